/** Limits the growth of the store: compacts old history, and deletes objects whose time to live has ended (Events). */
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { startExpiry, type ExpiryOptions } from "./expiry.ts"

export interface UpkeepOptions extends ExpiryOptions {
  /** The kinds that are served, of which those with `ttlSeconds` expire. */
  readonly resources: readonly Resource[]
  /** How long history is kept, in milliseconds. */
  readonly historyMs: number
}

/** Compactions per window of history. Each needs a timer, and an idle server should seldom wake. */
const STEPS = 4

export function startUpkeep(options: UpkeepOptions): () => void {
  const stops = [startCompaction(options), ...options.resources.map((resource) => startExpiry(options, resource))]
  return () => stops.forEach((stop) => stop())
}

/** Compacts history older than the window. The limit of history in bytes is enforced by the store itself. */
function startCompaction({ storage, clock, historyMs }: UpkeepOptions): () => void {
  const tick = () => {
    // Set first: a disk that cannot be read now can be read later.
    timer = clock.setTimeout(tick, historyMs / STEPS, "upkeep")
    const upTo = storage.revisionAt(clock.now() - historyMs)
    if (upTo > storage.compactedRevision) storage.compact(upTo)
  }
  let timer = clock.setTimeout(tick, historyMs / STEPS, "upkeep")
  return () => timer.cancel()
}
