/**
 * The one owner of "one failure does not end all" (docs/architecture.md): a seam catches what went wrong with one thing
 * (a pod, a watch, a request …), and calls `contain`, which counts it, and logs it with its stack. The seam then ends or
 * retries that one thing only.
 */
import type { LogFields, Logger } from "../log/log.ts"
import { FatalError } from "./fatal-error.ts"

/** The seams, as they are named in the metric and in the table of docs/architecture.md. */
export type Place =
  | "admission policy"
  | "background work"
  | "DNS query"
  | "definition"
  | "ended socket"
  | "forgotten file"
  | "informer handler"
  | "network policy"
  | "plugin"
  | "pod worker"
  | "reconcile"
  | "request"
  | "route"
  | "scheduling"
  | "Service rules"
  | "store listener"
  | "timer"
  | "uncaught exception"
  | "unhandled rejection"
  | "watch"

/** The places that are tried again ever more slowly: each failure is logged, as it cannot fill the log. */
const BACKED_OFF: ReadonlySet<Place> = new Set(["network policy", "reconcile", "route", "Service rules"])

const counts = new Map<Place, number>()
/** How often each failure was contained, by its place and stack. Bounded: the oldest are forgotten. */
const seen = new Map<string, number>()
const MOST_SEEN = 1000

/**
 * Counts a failure and logs it with its stack. Of a failure that returns from the same place with the same stack the
 * 2nd, 4th, 8th … are logged too, with their number, so that no flood of them fills the log; of a reconcile each is.
 * Never throws, but for a FatalError, which nothing may contain.
 */
export function contain(place: Place, err: unknown, log: Logger, fields: LogFields = {}): void {
  if (err instanceof FatalError) throw err
  counts.set(place, (counts.get(place) ?? 0) + 1)
  const stack = err instanceof Error ? err.stack : undefined
  const times = timesOf(`${place}\n${framesOf(stack) ?? String(err)}`)
  if (!BACKED_OFF.has(place) && (times & (times - 1)) !== 0) return
  try {
    log.error("Contained a failure; everything else goes on", { place, ...fields, err, stack, times })
  } catch {
    // A log that cannot be written to is no reason to let the failure out.
  }
}

/** How many failures this process has contained, by their place. */
export const containedFailures = (): ReadonlyMap<Place, number> => counts

/**
 * Whether an error is one that only a mistake in a program causes, and not a state of the cluster, the machine or the
 * network. Go's panics are such errors.
 */
export const isMistake = (err: unknown): boolean =>
  err instanceof TypeError || err instanceof RangeError || err instanceof ReferenceError || !(err instanceof Error)

/** Counts one more failure of this kind, and returns how many there have been. */
function timesOf(kind: string): number {
  const times = (seen.get(kind) ?? 0) + 1
  seen.delete(kind)
  seen.set(kind, times)
  if (seen.size > MOST_SEEN) seen.delete(seen.keys().next().value!)
  return times
}

/** Returns the frames of a stack without the message, which may differ each time. */
function framesOf(stack: string | undefined): string | undefined {
  const at = stack?.search(/^ +at /m) ?? -1
  return at < 0 ? undefined : stack!.slice(at)
}
