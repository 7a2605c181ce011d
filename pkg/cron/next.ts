import type { CronInterval, CronSchedule } from "./schedule.ts"
import { offsetAt } from "./zone.ts"

const MINUTE = 60_000
const DAY = 86_400_000
/**
 * A schedule without a time in this many years never comes, as the 31st of February. Source: robfig/cron
 * SpecSchedule.Next.
 */
const YEARS_AHEAD = 5
/** The largest offset from UTC of any time zone, in milliseconds. */
const FARTHEST_OFFSET = 15 * 3_600_000

/**
 * Returns the first instant after `after` (milliseconds since the epoch) at which clocks in `zone` show a time of the
 * schedule; undefined if there is none within five years. Where clocks are set forward, the times that are left out do
 * not run; where they are set back, the times that are shown twice run twice. Source of these rules: robfig/cron, which
 * upstream uses.
 */
export function nextRun(schedule: CronSchedule | CronInterval, after: number, zone = "UTC"): number | undefined {
  if ("every" in schedule) return Math.floor(after / 1000) * 1000 + schedule.every
  // Wall clock times are calculated as if they were UTC.
  const first = Math.floor((after + offsetAt(zone, after)) / DAY) * DAY
  const lastYear = new Date(first).getUTCFullYear() + YEARS_AHEAD
  // The day before is searched too: where clocks are set back over midnight, its last times come again.
  for (let day = first - DAY; new Date(day).getUTCFullYear() <= lastYear; day += DAY) {
    if (!includesDay(schedule, new Date(day))) continue
    const run = firstOfDay(schedule, day, after, zone)
    if (run !== undefined) return run
  }
  return undefined
}

/**
 * Returns the last instant up to `upTo` at which clocks in `zone` show a time of the schedule; undefined if there is
 * none after `after`. Takes as many steps as there are days between the two.
 */
export function lastRun(schedule: CronSchedule, after: number, upTo: number, zone = "UTC"): number | undefined {
  const today = Math.floor((upTo + offsetAt(zone, upTo)) / DAY) * DAY
  for (let day = today; day >= after - FARTHEST_OFFSET - DAY; day -= DAY) {
    const run = includesDay(schedule, new Date(day)) ? latestOfDay(schedule, day, upTo, zone) : undefined
    if (run !== undefined) return run > after ? run : undefined
  }
  return undefined
}

function includesDay(
  { months, daysOfMonth, daysOfWeek, anyDayOfMonth, anyDayOfWeek }: CronSchedule,
  date: Date,
): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false
  const [byDate, byWeekday] = [daysOfMonth.has(date.getUTCDate()), daysOfWeek.has(date.getUTCDay())]
  return anyDayOfMonth || anyDayOfWeek ? byDate && byWeekday : byDate || byWeekday
}

function firstOfDay(schedule: CronSchedule, day: number, after: number, zone: string): number | undefined {
  let earliest: number | undefined
  for (const instant of instantsOf(schedule, day, zone, (instant) => instant > after && !(instant >= earliest!)))
    earliest = instant
  return earliest
}

function latestOfDay(schedule: CronSchedule, day: number, upTo: number, zone: string): number | undefined {
  let latest: number | undefined
  for (const instant of instantsOf(schedule, day, zone, (instant) => instant <= upTo && !(instant <= latest!)))
    latest = instant
  return latest
}

/** Yields the instants of one day of the zone's clocks that `counts` accepts, in any order. */
function* instantsOf(
  { hours, minutes }: CronSchedule,
  day: number,
  zone: string,
  counts: (instant: number) => boolean,
): Generator<number> {
  const offsets = new Set([offsetAt(zone, day - FARTHEST_OFFSET), offsetAt(zone, day + DAY + FARTHEST_OFFSET)])
  for (const hour of hours) {
    for (const minute of minutes) {
      const wall = day + (hour * 60 + minute) * MINUTE
      for (const offset of offsets) {
        const instant = wall - offset
        // On a day on which the offset changes a wall clock time has no, one or two instants: those whose real offset
        // is the one that was used to calculate them.
        if (counts(instant) && (offsets.size === 1 || offsetAt(zone, instant) === offset)) yield instant
      }
    }
  }
}
