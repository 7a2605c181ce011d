import { rmSync } from "node:fs"
import type { Clock } from "../../../clock/clock.ts"
import { SqliteError } from "../../../runtime/sqlite.ts"
import type { SharedLog } from "../shared-log.ts"
import type { SharedObjects } from "../shared-object.ts"
import { catchUp } from "./catch-up.ts"
import { HistoryFile, type HistoryFileOptions } from "./history-file.ts"

interface Parts {
  readonly log: SharedLog
  readonly objects: SharedObjects
  readonly clock: Clock
}

/**
 * Opens the file of a server's history, and adds what was changed while the server was away, up to `revision`. A file
 * that cannot be read is replaced by a new one. Resolves to undefined where there can be none.
 */
export async function openHistory(
  options: Omit<HistoryFileOptions, "clock">,
  revision: number,
  parts: Parts,
): Promise<HistoryFile | undefined> {
  try {
    return await opened(options, revision, parts)
  } catch (err) {
    if (!(err instanceof SqliteError)) throw err
    options.failed(err)
    for (const suffix of ["", "-wal", "-shm"]) rmSync(options.file + suffix, { force: true })
    return opened(options, revision, parts).catch(() => undefined)
  }
}

async function opened(
  options: Omit<HistoryFileOptions, "clock">,
  revision: number,
  parts: Parts,
): Promise<HistoryFile> {
  const history = new HistoryFile({ ...options, clock: parts.clock }, parts.objects)
  try {
    await catchUp(history, revision, parts)
    return history
  } catch (err) {
    history.close()
    throw err
  }
}
