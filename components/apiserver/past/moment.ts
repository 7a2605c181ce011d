import { ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import { formatMicroTime } from "../../../pkg/apimachinery/scalars/time.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { parsePoint, POINT_FORMS } from "../../../pkg/history/point.ts"
import type { Storage, StorageEvent } from "../../../pkg/storage/storage.ts"
import { checkNotFuture } from "../cacher/resource-version.ts"

/** A revision that the log still knows, and when it was. */
export interface Moment {
  readonly revision: number
  /** Milliseconds since the epoch. */
  readonly time: number
}

/**
 * Finds the moment that a client names.
 * @throws ApiError BadRequest; Timeout for a revision that is not there yet; Expired where the history begins later
 */
export function momentOf(storage: Storage, clock: Clock, text: string): Moment {
  const point = parsePoint(text)
  if (point === undefined)
    throw badRequest(`invalid point in time ${JSON.stringify(text.slice(0, 100))}: must be ${POINT_FORMS}`)
  if ("revision" in point) return ofRevision(storage, clock, point.revision)
  const now = clock.now()
  const time = "ago" in point ? now - point.ago : point.time
  if (time >= now) return { revision: storage.revision, time: now }
  const revision = storage.revisionAt(time)
  // The revision where the log begins also stands for everything before.
  if (revision <= beginning(storage) && beginning(storage) > 0 && time < firstTime(storage, now))
    throw expired(storage, now)
  return { revision, time }
}

function ofRevision(storage: Storage, clock: Clock, revision: number): Moment {
  checkNotFuture(revision, storage.revision, 0)
  const now = clock.now()
  if (revision < beginning(storage)) throw expired(storage, now)
  // A renewal of a Lease leaves no row behind; then the write after it tells the time.
  const nearest = firstAfter(storage, Math.max(revision - 1, beginning(storage)))
  return { revision, time: nearest?.time ?? now }
}

/** How many revisions may leave no row behind, so that the next one is looked for. */
const MOST_WITHOUT_ROW = 1000
/** How many revisions are read at first: nearly always each has a row. */
const FIRST_REVISIONS = 8

/** Returns the first write after a revision, without reading many that follow it. */
function firstAfter(storage: Storage, revision: number): StorageEvent | undefined {
  const { stride = 1 } = storage
  const end = revision + MOST_WITHOUT_ROW * stride
  for (let [from, count] = [revision, FIRST_REVISIONS * stride]; from < end; count *= 2) {
    const [first] = storage.between(from, Math.min(end, from + count))
    if (first !== undefined) return first
    from += count
  }
  return undefined
}

/** The oldest revision of which the state is known. */
export const beginning = ({ historyBegins, compactedRevision }: Storage): number => historyBegins ?? compactedRevision

const firstTime = (storage: Storage, now: number): number => firstAfter(storage, beginning(storage))?.time ?? now

const expired = (storage: Storage, now: number): ApiError =>
  new ApiError(
    "Expired",
    `too old: the history that is kept begins at ${formatMicroTime(firstTime(storage, now))}, with revision ` +
      `${beginning(storage)} (k3ts server --history-age, --history-size)`,
  )
