import type { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { nextRun } from "../../../pkg/cron/next.ts"
import type { CronInterval, CronSchedule } from "../../../pkg/cron/schedule.ts"

/** A parsed schedule with its time zone. */
export interface Timetable {
  readonly schedule: CronSchedule | CronInterval
  readonly zone: string
}

export interface Due {
  /** The newest scheduled time that has passed and has not run, in milliseconds. */
  readonly at: number | undefined
  /** Whether so many runs were missed that the clock or the deadline is probably wrong. */
  readonly tooManyMissed: boolean
  /** The next scheduled time; undefined if there is none. */
  readonly next: number | undefined
}

const MANY = 100

/**
 * Returns what is due of a CronJob. Times before `floor`, those of an older schedule, are ignored. Of several missed
 * times only the newest counts. Source: mostRecentScheduleTime in pkg/controller/cronjob/utils.go. Differs from
 * upstream: `@every` always counts from the last run, regardless of startingDeadlineSeconds.
 */
export function dueOf({ metadata, spec, status }: CronJob, { schedule, zone }: Timetable, now: number, floor = 0): Due {
  const { startingDeadlineSeconds } = spec
  const served = Math.max(floor, Date.parse(status.lastScheduleTime ?? metadata.creationTimestamp ?? ""))
  const after =
    "every" in schedule
      ? (time: number): number => served + schedule.every * (Math.floor((time - served) / schedule.every) + 1)
      : (time: number): number | undefined => runAfter(schedule, zone, time)
  const first = after(
    startingDeadlineSeconds === undefined ? served : Math.max(served, now - startingDeadlineSeconds * 1000),
  )
  if (first === undefined || first > now)
    return { at: undefined, tooManyMissed: false, next: first ?? after(Math.max(served, now)) }
  const second = after(first)
  if (second === undefined || second > now) return { at: first, tooManyMissed: false, next: second }
  const interval = second - first
  const missed = Math.floor((now - first) / interval) + 1
  const at = newestUpTo(now, first, interval, after)
  return { at, tooManyMissed: missed > MANY, next: after(at) }
}

/** The last computed run of each schedule: a CronJob is reconciled several times between two runs. */
const worked = new WeakMap<CronSchedule, { readonly zone: string; readonly after: number; readonly run: number }>()

function runAfter(schedule: CronSchedule, zone: string, time: number): number | undefined {
  const last = worked.get(schedule)
  // No other run lies between a time and the run that follows it.
  if (last !== undefined && last.zone === zone && last.after <= time && time < last.run) return last.run
  const run = nextRun(schedule, time, zone)
  if (run !== undefined) worked.set(schedule, { zone, after: time, run })
  return run
}

/**
 * Returns the last time up to `now`. It searches near the end first, and further back while it finds nothing, because
 * intervals need not be equal.
 */
function newestUpTo(now: number, first: number, interval: number, after: (time: number) => number | undefined): number {
  for (let back = interval; ; back *= 2) {
    const from = Math.max(first, now - back)
    let newest = from === first ? first : undefined
    for (let time = after(from); time !== undefined && time <= now; time = after(time)) newest = time
    if (newest !== undefined) return newest
  }
}
