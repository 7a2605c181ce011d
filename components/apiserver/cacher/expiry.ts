import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Storage, Stored } from "../../../pkg/storage/storage.ts"
import { isRace } from "../store/is-race.ts"
import { keepingOf, storagePrefix } from "./view.ts"
import { largest } from "../../../pkg/lists/extremes.ts"

export interface ExpiryOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly log: Logger
  /** How long objects that expire are kept, in seconds, and zero for ever; what their kinds say unless given. */
  readonly eventSeconds?: number | undefined
}

/** Expired objects are searched for at most this often. */
const INTERVAL_MS = 60_000
/** Objects that are looked at, and expired ones that are deleted, in one turn: some milliseconds of work. */
const LOOKED_AT_ONCE = 1000
const ENDED_AT_ONCE = 200
/** The time between two turns of a search, in which requests are served. */
const BETWEEN_TURNS_MS = 1
/**
 * How much longer a store has that deletes expired objects by itself: leases of etcd last up to a minute longer, and
 * begin anew when its leader changes. What is older has no lease, as after a move from a store of another kind.
 */
const LENIENCY_MS = 10 * 60_000

/**
 * Deletes objects of a kind when their time to live has ended, if they have one. No timer runs while there are no
 * objects of the kind. Returns a function that ends it.
 */
export function startExpiry({ storage, clock, log, eventSeconds }: ExpiryOptions, resource: Resource): () => void {
  const keeping = keepingOf(resource, eventSeconds)
  if (keeping.ttlSeconds === undefined) return () => {}
  const prefix = storagePrefix(resource, undefined)
  const life = keeping.ttlSeconds * 1000 + (storage.expires === true ? LENIENCY_MS : 0)
  const timeOf = storage.forgetsTimes === true ? timesOf(storage, prefix) : ({ time }: Stored) => time
  let timer: Timer | undefined
  let searching = false
  let stopped = false

  const arm = (inMs: number) => (timer = clock.setTimeout(search, Math.max(inMs, INTERVAL_MS), "upkeep"))

  const search = () => {
    searching = true
    turn(undefined, clock.now())
  }

  /** Looks at some objects that follow `after`. `oldest` is when the oldest of those before was written. */
  const turn = (after: string | undefined, oldest: number) => {
    const { items, remaining } = storage.page(prefix, after, LOOKED_AT_ONCE)
    const due: Promise<unknown>[] = []
    let seen = 0
    for (; seen < items.length && due.length < ENDED_AT_ONCE; seen++) {
      const time = timeOf(items[seen]!)
      if (clock.now() - time >= life) due.push(end(items[seen]!))
      else oldest = Math.min(oldest, time)
    }
    const areMore = seen < items.length || remaining > 0
    const ended = (errors: readonly unknown[]) => {
      if (stopped) return
      const failed = errors.filter((error) => error !== undefined)
      if (failed.length > 0)
        log.error("Failed to delete expired objects; will retry", { objects: failed.length, error: failed[0] })
      else if (areMore) {
        timer = clock.setTimeout(() => turn(items[seen - 1]!.key, oldest), BETWEEN_TURNS_MS, "upkeep")
        return
      }
      searching = false
      timer = undefined
      // Objects that come or change from now on expire later than the oldest one, so that none is missed until then.
      if (failed.length > 0) arm(0)
      else if (hasObjects()) arm(oldest + life - clock.now())
    }
    if (due.length === 0) ended([])
    else void Promise.all(due).then(ended)
  }

  /** Resolves to why the object could not be deleted; undefined when it is gone, or has been written again. */
  const end = ({ key, revision }: Stored): Promise<unknown> =>
    storage
      .write({ key, object: null, expected: revision, time: clock.now(), author: "system:apiserver", ...keeping })
      .then(
        () => undefined,
        (error: unknown) => (isRace(error) ? undefined : error),
      )

  const hasObjects = () => storage.page(prefix, undefined, 1).items.length > 0
  if (hasObjects()) arm(0)
  const unsubscribe = storage.subscribe(() => {
    if (timer === undefined && !searching) arm(0)
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
  const valid = times.filter((time) => !Number.isNaN(time))
  return valid.length === 0 ? undefined : largest(valid)
}
