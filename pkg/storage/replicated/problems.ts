import { StorageError } from "../storage.ts"
import type { SharedLogError } from "./shared-log.ts"

/** Returns the storage error for an error of the shared log. */
export function storageErrorOf(err: SharedLogError): StorageError {
  const { message, code } = err
  switch (code) {
    case "full":
      return new StorageError("full", `The store is full: ${message}`, undefined, { cause: err })
    case "oversized":
      return new StorageError("oversized", `The store accepts no write of this size: ${message}`, undefined, {
        cause: err,
      })
    case "refused":
      return new StorageError("readonly", `The store refuses the write: ${message}`, undefined, { cause: err })
    case "compacted":
    case "unknown":
    case "unavailable":
      return new StorageError("unavailable", `The store cannot be reached: ${message}`, undefined, { cause: err })
  }
}
