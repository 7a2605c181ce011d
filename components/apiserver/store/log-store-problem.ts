import type { Logger } from "../../../pkg/log/log.ts"
import type { StorageError } from "../../../pkg/storage/storage.ts"

/** Returns what logs that a part of the server could not take a change; the others have heard of it. */
export const listenerErrorLog = (log: Logger) => (err: unknown) =>
  log.error("A component of this server failed to handle a change of the store", {
    err,
    stack: err instanceof Error ? err.stack : undefined,
  })

/** Returns what logs that the store refuses writes, and that it takes them again. */
export const problemLog = (log: Logger) => (problem: StorageError | undefined) => {
  if (problem === undefined) log.info("The store takes writes again")
  else log.error("The store refuses writes; reads and watches go on", { code: problem.code, error: problem.message })
}
