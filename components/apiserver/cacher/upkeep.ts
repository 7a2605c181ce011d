/** Limits the growth of the store: compacts old history, and deletes objects whose time to live has ended (Events). */
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Storage, Stored } from "../../../pkg/storage/storage.ts"
import { isRace } from "../store/is-race.ts"
import { keepingOf, storagePrefix } from "./view.ts"

export interface UpkeepOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly log: Logger
  /** The kinds that are served, of which those with `ttlSeconds` expire. */
  readonly resources: readonly Resource[]
  /** How long objects of these kinds are kept, in seconds, and zero for ever; what the kinds say unless given. */
  readonly eventSeconds?: number | undefined
  /** How long history is kept, in milliseconds. */
  readonly historyMs: number
}

/** Compactions per window of history. Each needs a timer, and an idle server should seldom wake. */
const STEPS = 4
/** Expired objects are searched for at most this often. */
const EXPIRY_INTERVAL_MS = 60_000
/** Expired objects deleted at once: a few milliseconds of work. */
const ENDED_AT_ONCE = 200
/**
 * How much longer a store has that deletes expired objects by itself: leases of etcd last up to a minute longer, and
 * begin anew when its leader changes. What is older has no lease, as after a move from a store of another kind.
 */
const LENIENCY_MS = 10 * 60_000

export function startUpkeep(options: UpkeepOptions): () => void {
  const stops = [
    startCompaction(options),
    ...options.resources
      .map((resource) => ({ resource, seconds: keepingOf(resource, options.eventSeconds).ttlSeconds }))
      .flatMap(({ resource, seconds }) => (seconds === undefined ? [] : startExpiry(options, resource, seconds))),
  ]
  return () => stops.forEach((stop) => stop())
}

/** Compacts history older than the window. The limit of history in bytes is enforced by the store itself. */
function startCompaction({ storage, clock, historyMs }: UpkeepOptions): () => void {
  const tick = () => {
    const upTo = storage.revisionAt(clock.now() - historyMs)
    if (upTo > storage.compactedRevision) storage.compact(upTo)
    timer = clock.setTimeout(tick, historyMs / STEPS, "upkeep")
  }
  let timer = clock.setTimeout(tick, historyMs / STEPS, "upkeep")
  return () => timer.cancel()
}

/** Deletes expired objects of a kind. No timer runs while there are no objects of the kind. */
function startExpiry(
  { storage, clock, log, eventSeconds }: UpkeepOptions,
  resource: Resource,
  seconds: number,
): () => void {
  const prefix = storagePrefix(resource, undefined)
  const life = seconds * 1000 + (storage.expires === true ? LENIENCY_MS : 0)
  const timeOf = storage.forgetsTimes === true ? timesOf(storage, prefix) : ({ time }: Stored) => time
  let timer: Timer | undefined
  let stopped = false
  const arm = (inMs: number) => (timer ??= clock.setTimeout(sweep, Math.max(inMs, EXPIRY_INTERVAL_MS), "upkeep"))
  // The next sweep is when the oldest remaining object expires: objects that come meanwhile are younger.
  const sweep = () => {
    timer = undefined
    let oldest: number | undefined
    const due: Promise<unknown>[] = []
    for (const stored of storage.list(prefix)) {
      const age = clock.now() - timeOf(stored)
      if (age < life) oldest = Math.max(oldest ?? 0, age)
      else if (due.push(end(stored)) === ENDED_AT_ONCE) break
    }
    const areMore = due.length === ENDED_AT_ONCE
    void Promise.all(due).then((errors) => {
      const failed = errors.filter((error) => error !== undefined)
      if (stopped) return
      if (failed.length > 0) {
        log.error("Failed to delete expired objects; will retry", { objects: failed.length, error: failed[0] })
        arm(0)
      } else if (areMore) {
        // Many expired objects are deleted in parts, so that requests are served in between.
        // The deletions themselves have set the timer of the next usual sweep.
        timer?.cancel()
        timer = clock.setTimeout(sweep, 1, "upkeep")
      }
    })
    if (!areMore && oldest !== undefined) arm(life - oldest)
  }
  /** Resolves to why the object could not be deleted; undefined when it is gone, or has been written again. */
  const end = ({ key, revision }: Stored): Promise<unknown> =>
    storage
      .write({
        key,
        object: null,
        expected: revision,
        time: clock.now(),
        author: "system:apiserver",
        ...keepingOf(resource, eventSeconds),
      })
      .then(
        () => undefined,
        (error: unknown) => (isRace(error) ? undefined : error),
      )
  if (storage.list(prefix).length > 0) arm(0)
  const unsubscribe = storage.subscribe(() => {
    if (timer === undefined) arm(0)
  }, [prefix])
  return () => {
    stopped = true
    unsubscribe()
    timer?.cancel()
  }
}

/**
 * Returns what tells when an object was written, for a store that does not keep it: of objects that are there now,
 * their metadata tell.
 */
function timesOf(storage: Storage, prefix: string): (stored: Stored) => number {
  const older = new Map(storage.list(prefix).map(({ key, revision }) => [key, { revision, time: NaN }]))
  return (stored) => {
    const known = older.get(stored.key)
    if (known === undefined) return stored.time
    if (known.revision !== stored.revision) {
      older.delete(stored.key)
      return stored.time
    }
    if (Number.isNaN(known.time)) known.time = Math.min(stored.time, writtenAt(stored.object.metadata) ?? stored.time)
    return known.time
  }
}

/** Returns when an object was last written, in milliseconds since the epoch; undefined if it does not tell. */
function writtenAt({ creationTimestamp, managedFields = [] }: KubeObject["metadata"]): number | undefined {
  const times = [creationTimestamp, ...managedFields.map(({ time }) => time)].map((time) => Date.parse(time ?? ""))
  const told = times.filter((time) => !Number.isNaN(time))
  return told.length === 0 ? undefined : Math.max(...told)
}
