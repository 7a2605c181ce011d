/** The files of one run. Paths are absolute, or relative to the environment's folder. Errors have Node's `code`. */
export interface Files {
  read(path: string): Promise<Uint8Array>
  /** Reads a file piece by piece, for files that are too large for memory. */
  stream(path: string): AsyncIterable<Uint8Array>
  /** Replaces a file. `mode` is that of a new file. */
  write(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>
  /**
   * Opens a new or existing file for writing piece by piece; with `exclusively` only a new one.
   * @throws an error with code EEXIST
   */
  open(path: string, options?: { readonly mode?: number; readonly exclusively?: boolean }): Promise<FileWriter>
  /** Follows links, unless `link` is set. Undefined when there is no such file. */
  stat(path: string, options?: { readonly link?: boolean }): Promise<FileStat | undefined>
  /** The names in a folder, sorted by their bytes as Go's ReadDir has them. */
  list(path: string): Promise<readonly string[]>
  mkdir(path: string, options?: { readonly recursive?: boolean; readonly mode?: number }): Promise<void>
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<void>
  rename(from: string, to: string): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  symlink(target: string, path: string): Promise<void>
  /** The path of a file that is there, without links. */
  realPath(path: string): Promise<string>
  readlink(path: string): Promise<string>
  /** Creates a file that did not exist. @throws an error with code EEXIST */
  createExclusively(path: string, data: string): Promise<void>
  /** The folder for temporary files. */
  readonly temporary: string
}

export interface FileWriter {
  write(data: Uint8Array): Promise<void>
  close(): Promise<void>
}

export interface FileStat {
  readonly isDirectory: boolean
  readonly isFile: boolean
  readonly isSymbolicLink: boolean
  /** In bytes. */
  readonly size: number
  readonly mode: number
  /** The numbers of its user and its group. */
  readonly uid: number
  readonly gid: number
  /** Milliseconds since the epoch. */
  readonly modified: number
}

const MESSAGES: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EISDIR: "is a directory",
  ENOTDIR: "not a directory",
  EEXIST: "file exists",
  ENOTEMPTY: "directory not empty",
  EROFS: "read-only file system",
  ENOSPC: "no space left on device",
}

export const errorCode = (err: unknown): string | undefined => (err as NodeJS.ErrnoException | undefined)?.code

/** Returns the error in Go's words: `open /a: no such file or directory`. Reading a folder is an error of `read`. */
export function goPathError(
  operation: string,
  path: string,
  err: unknown,
  { writing = false }: { readonly writing?: boolean } = {},
): Error {
  const code = errorCode(err)
  const message = code === undefined ? undefined : MESSAGES[code]
  if (message === undefined) return err instanceof Error ? err : new Error(String(err))
  const verb = code === "EISDIR" && operation === "open" && !writing ? "read" : operation
  return Object.assign(new Error(`${verb} ${path}: ${message}`, { cause: err }), { code })
}
