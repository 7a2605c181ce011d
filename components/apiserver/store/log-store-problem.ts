import { contain } from "../../../pkg/failure/contain.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { StorageError } from "../../../pkg/storage/storage.ts"

/**
 * Returns what is called when a part of the server could not take a change. The write is done, and the other parts have
 * heard of it; that part knows the next change of the same object again.
 */
export const listenerErrorLog = (log: Logger) => (err: unknown) => contain("store listener", err, log)

/** Returns what logs that the store refuses writes, and that it takes them again. */
export const problemLog = (log: Logger) => (problem: StorageError | undefined) => {
  if (problem === undefined) log.info("The store takes writes again")
  else log.error("The store refuses writes; reads and watches go on", { code: problem.code, error: problem.message })
}
