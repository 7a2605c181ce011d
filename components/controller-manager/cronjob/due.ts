import type { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { nextRun } from "../../../pkg/cron/next.ts"
import type { CronInterval, CronSchedule } from "../../../pkg/cron/schedule.ts"

/** A parsed schedule and the zone in which it is read. */
export interface Timetable {
  readonly schedule: CronSchedule | CronInterval
  readonly zone: string
}

export interface Due {
  /** The newest time that has come and has not been served, in milliseconds. */
  readonly at: number | undefined
  /** So many have been missed that the clock or the deadline is to be suspected. */
  readonly tooManyMissed: boolean
  /** The time after that, or undefined if the schedule never comes. */
  readonly next: number | undefined
}

const MANY = 100

/**
 * What is due of a CronJob. Times before `floor` are no concern: those of an older schedule. Where several have been
 * missed only the newest counts. Source: mostRecentScheduleTime in pkg/controller/cronjob/utils.go. Differs from
 * upstream: `@every` keeps its beat from the last run whatever startingDeadlineSeconds says.
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

/**
 * Of each schedule the run that was worked out last: between two runs a CronJob is looked at several times. Schedules
 * are values.
 */
const worked = new WeakMap<CronSchedule, { readonly zone: string; readonly after: number; readonly run: number }>()

function runAfter(schedule: CronSchedule, zone: string, time: number): number | undefined {
  const last = worked.get(schedule)
  // No other run lies between a time and the first one after it.
  if (last !== undefined && last.zone === zone && last.after <= time && time < last.run) return last.run
  const run = nextRun(schedule, time, zone)
  if (run !== undefined) worked.set(schedule, { zone, after: time, run })
  return run
}

/**
 * The last time up to `now`. Looks near the end first, and further back each time nothing is found there, for intervals
 * need not be equal.
 */
function newestUpTo(now: number, first: number, interval: number, after: (time: number) => number | undefined): number {
  for (let back = interval; ; back *= 2) {
    const from = Math.max(first, now - back)
    let newest = from === first ? first : undefined
    for (let time = after(from); time !== undefined && time <= now; time = after(time)) newest = time
    if (newest !== undefined) return newest
  }
}
