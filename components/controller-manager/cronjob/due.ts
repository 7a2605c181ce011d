import type { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
import { lastRun, nextRun } from "../../../pkg/cron/next.ts"
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
  /** The next scheduled time. */
  readonly next: number | undefined
}

const MANY = 100

/** Why no job can be started, as upstream says it. */
export const NEVER = "time difference between two schedules is less than 1 second"

/**
 * Returns what is due of a CronJob. Times before `floor`, those of an older schedule, are ignored. Of several missed
 * times only the newest counts. Returns a sentence for a schedule without a time, as the 31st of February. Source:
 * mostRecentScheduleTime in pkg/controller/cronjob/utils.go. Differs from upstream: `@every` always counts from the
 * last run, regardless of startingDeadlineSeconds.
 */
export function dueOf(
  { metadata, spec, status }: CronJob,
  { schedule, zone }: Timetable,
  now: number,
  floor = 0,
): Due | string {
  const { startingDeadlineSeconds } = spec
  const served = Math.max(floor, Date.parse(status.lastScheduleTime ?? metadata.creationTimestamp ?? ""))
  const after =
    "every" in schedule
      ? (time: number): number => served + schedule.every * (Math.floor((time - served) / schedule.every) + 1)
      : (time: number): number | undefined => runAfter(schedule, zone, time)
  const first = after(
    startingDeadlineSeconds === undefined ? served : Math.max(served, now - startingDeadlineSeconds * 1000),
  )
  if (first === undefined) return NEVER
  if (first > now) return { at: undefined, tooManyMissed: false, next: first }
  const second = after(first)
  if (second === undefined) return NEVER
  if (second > now) return { at: first, tooManyMissed: false, next: second }
  const missed = Math.floor((now - first) / (second - first)) + 1
  const at =
    "every" in schedule
      ? served + schedule.every * Math.floor((now - served) / schedule.every)
      : (lastRun(schedule, second, now, zone) ?? second)
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
