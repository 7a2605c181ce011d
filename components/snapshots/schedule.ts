import type { Clock, Timer } from "../../pkg/clock/clock.ts"
import { nextRun } from "../../pkg/cron/next.ts"
import type { CronInterval, CronSchedule } from "../../pkg/cron/schedule.ts"

/** When scheduled snapshots are due. */
export interface Schedule {
  readonly cron: CronSchedule | CronInterval
  /** The IANA time zone of its fields. */
  readonly zone: string
}

/**
 * Longest time between two looks at the clock. Timers measure elapsed time, but the system's clock may be set, and a
 * machine may sleep.
 */
const LOOK_MS = 3_600_000

/**
 * Calls `run` whenever the schedule says so. A run that takes longer than until the next one is due is not joined by
 * another. Returns the function that ends this.
 */
export function keepSchedule(clock: Clock, { cron, zone }: Schedule, run: () => Promise<void>): () => void {
  let timer: Timer | undefined
  let ended = false
  const wait = (): void => {
    const due = ended ? undefined : nextRun(cron, clock.now(), zone)
    if (due === undefined) return
    const look = (): void => {
      const left = due - clock.now()
      if (left > 0) timer = clock.setTimeout(look, Math.min(left, LOOK_MS), "upkeep")
      else void run().finally(wait)
    }
    look()
  }
  wait()
  return () => {
    ended = true
    timer?.cancel()
  }
}
