import type { Scheme } from "../../../../pkg/api/scheme.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Storage } from "../../../../pkg/storage/storage.ts"
import { storagePrefix } from "../../cacher/view.ts"
import type { ResourceAttributes } from "../../call/request.ts"

/** Bytes of objects that one seat stands for. Source: apiserver pkg/util/flowcontrol/request/list_work_estimator.go. */
const BYTES_PER_SEAT = 100_000
/** More bytes are not counted: a list is written in pieces, so no more of it is in memory at once. */
const MOST_BYTES = 1_000_000
/** How long the number and average size of a kind's objects are cached. */
const FRESH_MS = 60_000

interface Stats {
  readonly until: number
  readonly count: number
  /** Average size of an object, in bytes. */
  readonly size: number
}

/**
 * Returns a function that estimates how many seats a list takes, or a watch that begins with a list: by the bytes of
 * all objects of the kind, or of `limit` of them. Differs from upstream: the average size is that of three sampled
 * objects.
 */
export function listSeats({
  scheme,
  storage,
  clock,
}: {
  readonly scheme: Scheme
  readonly storage: Storage
  readonly clock: Clock
}): (attributes: ResourceAttributes, limit: number | undefined, maxSeats: number) => number {
  const known = new WeakMap<Resource, Stats>()

  function statsOf(resource: Resource): Stats {
    const now = clock.monotonic()
    let stats = known.get(resource)
    if (stats === undefined || now >= stats.until) {
      const all = storage.list(storagePrefix(resource, undefined))
      const sample = all.length === 0 ? [] : [all[0]!, all[all.length >> 1]!, all.at(-1)!]
      const bytes = sample.reduce((sum, { json }) => sum + json.byteLength, 0)
      stats = { until: now + FRESH_MS, count: all.length, size: sample.length === 0 ? 0 : bytes / sample.length }
      known.set(resource, stats)
    }
    return stats
  }

  return ({ group, version, resource: plural, name }, limit, maxSeats) => {
    if (maxSeats <= 1 || (name !== undefined && name !== "")) return 1
    const resource = scheme.resource(group, version, plural)
    if (resource === undefined) return 1
    const { count, size } = statsOf(resource)
    const listed = limit !== undefined && limit > 0 ? Math.min(limit, count) : count
    const seats = Math.ceil(Math.min(size * listed, MOST_BYTES) / BYTES_PER_SEAT)
    return Math.max(1, Math.min(seats, maxSeats))
  }
}
