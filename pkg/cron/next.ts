import type { CronInterval, CronSchedule } from "./schedule.ts"
import { offsetAt } from "./zone.ts"

const MINUTE = 60_000
const DAY = 86_400_000
/** Beyond this a schedule is taken never to come, as the 31st of February is. Source: robfig/cron SpecSchedule.Next. */
const YEARS_AHEAD = 5
/** No zone's clocks are further from UTC. */
const FARTHEST_OFFSET = 15 * 3_600_000

/**
 * The first instant after `after` (milliseconds since the epoch) at which clocks in `zone` show a time of the schedule;
 * undefined if there is none within five years. Where clocks are put forward, times that are left out do not come;
 * where they are put back, times that are shown twice come twice. Source of these rules: robfig/cron, which upstream
 * uses.
 */
export function nextRun(schedule: CronSchedule | CronInterval, after: number, zone = "UTC"): number | undefined {
  if ("every" in schedule) return Math.floor(after / 1000) * 1000 + schedule.every
  // Wall clock times are counted like UTC ones.
  const first = Math.floor((after + offsetAt(zone, after)) / DAY) * DAY
  const lastYear = new Date(first).getUTCFullYear() + YEARS_AHEAD
  // The day before counts too: where clocks go back over midnight it comes once more.
  for (let day = first - DAY; new Date(day).getUTCFullYear() <= lastYear; day += DAY) {
    if (!includesDay(schedule, new Date(day))) continue
    const run = firstOfDay(schedule, day, after, zone)
    if (run !== undefined) return run
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

function firstOfDay({ hours, minutes }: CronSchedule, day: number, after: number, zone: string): number | undefined {
  const offsets = new Set([offsetAt(zone, day - FARTHEST_OFFSET), offsetAt(zone, day + DAY + FARTHEST_OFFSET)])
  let earliest: number | undefined
  for (const hour of hours) {
    for (const minute of minutes) {
      const wall = day + (hour * 60 + minute) * MINUTE
      for (const offset of offsets) {
        const instant = wall - offset
        if (instant <= after || (earliest !== undefined && instant >= earliest)) continue
        // On the day of a change each time has one, two or no instants: those at which the offset is the one reckoned
        // with.
        if (offsets.size === 1 || offsetAt(zone, instant) === offset) earliest = instant
      }
    }
  }
  return earliest
}
