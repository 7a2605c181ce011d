import type { Clock, Timer } from "../../pkg/clock/clock.ts"
import { nextRun } from "../../pkg/cron/next.ts"
import type { CronInterval, CronSchedule } from "../../pkg/cron/schedule.ts"
import { systemZone } from "../../pkg/cron/system-zone.ts"

/** When scheduled snapshots are due. */
export interface Schedule {
  readonly cron: CronSchedule | CronInterval
  /** The IANA time zone of its fields; the system's unless given. */
  readonly zone?: string | undefined
}

/**
 * Longest time between two looks at the clock. Timers measure elapsed time, but the system's clock may be set, and a
 * machine may sleep.
 */
const LOOK_MS = 3_600_000
/** How long after the start the first run is looked for: the data of time zones takes 6 ms to load. */
const FIRST_LOOK_MS = 5000

/**
 * Calls `run` whenever the schedule says so. A run that takes longer than until the next one is due is not joined by
 * another. Returns the function that ends this.
 */
export function keepSchedule(clock: Clock, { cron, zone }: Schedule, run: () => Promise<void>): () => void {
  let timer: Timer
  let ended = false
  const waitAfter = (time: number): void => {
    const due = ended ? undefined : nextRun(cron, time, zone ?? systemZone())
    if (due === undefined) return
    const check = (): void => {
      const left = due - clock.now()
      if (left > 0) timer = clock.setTimeout(check, Math.min(left, LOOK_MS), "upkeep")
      else void run().finally(() => waitAfter(clock.now()))
    }
    check()
  }
  const begun = clock.now()
  timer = clock.setTimeout(() => waitAfter(begun), FIRST_LOOK_MS, "upkeep")
  return () => {
    ended = true
    timer.cancel()
  }
}
