import type { Clock } from "../../../clock/clock.ts"
import type { SharedChange, SharedLog } from "../shared-log.ts"
import type { SharedObjects } from "../shared-object.ts"
import type { StoredObject } from "../../stored-object.ts"
import type { HistoryFile } from "./history-file.ts"
import { TYPE } from "./history-rows.ts"

/** How long the log has to tell what was changed while a server was away, in milliseconds. */
const PATIENCE_MS = 5000
/** More objects whose former state the file does not have are not asked for one by one. */
const MOST_ASKED = 500

/**
 * Adds to a file of history what was changed between its end and `revision`, while this server did not run. Where the
 * log does not have it any more, the history begins anew.
 */
export async function catchUp(
  history: HistoryFile,
  revision: number,
  { log, objects, clock }: { readonly log: SharedLog; readonly objects: SharedObjects; readonly clock: Clock },
): Promise<void> {
  // The writes of one commit arrive together, so none is missing before the next commit.
  const missing = revision - history.last
  if (missing >= 0 && missing < (log.stride ?? 1)) return
  const changes = history.last === 0 || missing < 0 ? undefined : await missed(history, revision, log, clock)
  const former = new Map<string, StoredObject | undefined>()
  const newest = history.newestStates()
  let asked = 0
  for (const { key, revision: changed } of changes ?? []) {
    if (former.has(key)) continue
    const known = newest(key)
    if (known !== undefined) {
      former.set(key, known.type === TYPE.delete ? undefined : objects.read(identity(known), known.value))
      continue
    }
    const before = ++asked > MOST_ASKED ? null : await log.before?.(key, changed).catch(() => null)
    // A log that cannot tell the former state leaves a hole.
    if (before === null || log.before === undefined) return history.restart(revision)
    former.set(key, before === undefined ? undefined : objects.read(identity(before), before.value))
  }
  if (changes === undefined) return history.restart(revision)
  const time = clock.now()
  for (const change of changes) {
    const { key, value } = change
    const previous = former.get(key)
    const created = value === undefined ? (previous?.created ?? change.revision) : change.created
    const id = { key, revision: change.revision, created, time, seldomRead: false }
    if (value === undefined && previous === undefined) continue
    const stored = value === undefined ? objects.deleted(id, previous!) : objects.read(id, value)
    const type = value === undefined ? "delete" : previous === undefined ? "create" : "update"
    history.note({ type, revision: change.revision, key, stored, previous, time, author: "" }, value)
    former.set(key, value === undefined ? undefined : stored)
  }
}

const identity = (of: {
  readonly key: string
  readonly revision: number
  readonly created: number
  time?: number
}) => ({
  key: of.key,
  revision: of.revision,
  created: of.created,
  time: of.time ?? 0,
  seldomRead: false,
})

/** Resolves to the changes up to `revision` that the file does not have; undefined where the log has lost some. */
function missed(
  history: HistoryFile,
  revision: number,
  log: SharedLog,
  clock: Clock,
): Promise<readonly SharedChange[] | undefined> {
  const { promise, resolve } = Promise.withResolvers<readonly SharedChange[] | undefined>()
  const changes: SharedChange[] = []
  const timer = clock.setTimeout(() => resolve(undefined), PATIENCE_MS)
  const watch = log.watch(history.last, {
    advanced(more, reached) {
      for (const change of more) if (change.revision <= revision) changes.push(change)
      if (reached >= revision) resolve(changes)
    },
    ended: () => resolve(undefined),
  })
  // The watch is then told that it has reached the revision, also where nothing was changed.
  log.latest().catch(() => resolve(undefined))
  return promise.finally(() => {
    timer.cancel()
    watch.close()
  })
}
