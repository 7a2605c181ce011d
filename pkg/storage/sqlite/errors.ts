import { SqliteError } from "../../runtime/sqlite.ts"
import { StorageError } from "../storage.ts"
import { errorMessage } from "../../errors/error-message.ts"

/**
 * Turns a failure of SQLite into a StorageError that says how to solve it. Source of the codes:
 * sqlite.org/rescode.html.
 */
export function storageErrorFrom(err: unknown, action: string, file: string): StorageError {
  if (err instanceof StorageError) return err
  if (!(err instanceof SqliteError))
    return new StorageError("damaged", `Cannot ${action} ${file}: ${errorMessage(err)}`, undefined, { cause: err })
  const failure = (code: StorageError["code"], why: string) =>
    new StorageError(code, `Cannot ${action} ${file}: ${why} (${err.code})`, undefined, { cause: err })
  const { code } = err
  if (code === "SQLITE_FULL" || code === "SQLITE_IOERR_WRITE" || code === "SQLITE_IOERR_SHMSIZE")
    return failure("full", "the disk is full or cannot be written; free some space")
  if (code.startsWith("SQLITE_READONLY") || code === "SQLITE_PERM" || code === "SQLITE_AUTH")
    return failure("readonly", "the file or its directory is read-only; make it writable")
  if (code.startsWith("SQLITE_CANTOPEN"))
    return failure("readonly", "it cannot be opened; check that its directory exists and is writable")
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"))
    return failure("locked", "another process uses it")
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB")
    return failure("damaged", "the file is damaged; restore it from a backup")
  if (code.startsWith("SQLITE_IOERR")) return failure("full", `the disk failed: ${err.message}`)
  return failure("damaged", err.message)
}
