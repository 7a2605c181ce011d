/**
 * A value that several servers share, in the store that they share. A server replaces it only where it knows what is
 * there, so that no write of another server is lost.
 */
export interface Cell {
  /** Returns the current value, as a majority has agreed on it; undefined where there is none. */
  read(): Promise<CellValue | undefined>
  /** Writes `value` if the current one is still that of `revision` (0: there is none). Resolves to whether it did. */
  write(value: Uint8Array, revision: number): Promise<boolean>
}

export interface CellValue {
  readonly value: Uint8Array
  /** The revision of the write that made it. */
  readonly revision: number
}
