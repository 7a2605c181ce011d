import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { finishedAt } from "./job-pods.ts"
import { largest } from "../../../pkg/lists/extremes.ts"

/** Source: pkg/controller/job/{job_controller,backoff_utils}.go. */
const FIRST_MS = 10_000
const LONGEST_MS = 600_000

/** The consecutive failures of a Job's pods. */
export interface Backoff {
  readonly failures: number
  /** When the last of them ended, in milliseconds. */
  readonly lastFailure: number
}
export const NO_BACKOFF: Backoff = { failures: 0, lastFailure: 0 }

/** Returns the backoff after more pods have ended; a success resets it, and later failures count from there. */
export function nextBackoff(before: Backoff, succeeded: readonly Pod[], failed: readonly Pod[]): Backoff {
  const since = succeeded.length === 0 ? undefined : largest(succeeded.map(finishedAt))
  const start = since === undefined ? before : NO_BACKOFF
  const ends = failed.map(finishedAt).filter((end) => since === undefined || end > since)
  return ends.length === 0 ? start : { failures: start.failures + ends.length, lastFailure: largest(ends) }
}

/**
 * Returns the milliseconds until a new pod may be created: 10 s after the first failure, doubling, at most 10 minutes.
 * Differs from upstream: a failure that lies far in the future is not waited for, since the clock was set back.
 */
export function untilRetry({ failures, lastFailure }: Backoff, now: number): number {
  if (failures === 0) return 0
  const delay = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10))
  return lastFailure - now > LONGEST_MS ? 0 : Math.max(0, lastFailure + delay - now)
}
