/**
 * A value in the store that several servers share. A server replaces it only if it knows the current revision, so that
 * no write of another server is lost.
 */
export interface Cell {
  /** Returns the current value, as a majority of the store's members has agreed on it; undefined when there is none. */
  read(): Promise<CellValue | undefined>
  /**
   * Writes `value` if the current revision is `revision` (0: there is no value). Resolves to whether it was written.
   */
  write(value: Uint8Array, revision: number): Promise<boolean>
}

export interface CellValue {
  readonly value: Uint8Array
  /** The revision of the write that stored the value. */
  readonly revision: number
}
