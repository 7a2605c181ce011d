/** An open file, which stays the same when another file gets its name. */
export interface OpenFile {
  /** Reads up to `length` bytes at `offset`; none at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>
  size(): Promise<number>
  /** Whether the path still names this file. */
  isCurrent(): Promise<boolean>
  close(): Promise<void>
}
