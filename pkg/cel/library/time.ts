import { isTimeZone, offsetAt } from "../../cron/zone.ts"
import { DURATION, INT, STRING, TIMESTAMP } from "../type.ts"
import { CelError, type Duration, type Timestamp, type Value } from "../values/values.ts"
import { declare, member, type FunctionDeclaration } from "./declare.ts"

/** Functions that return parts of timestamps and durations. Source: cel-go common/stdlib/standard.go. */

const SECOND = 1_000_000_000n

/**
 * Returns the wall clock of a time zone as the UTC time of a Date. The zone is a name, or an offset such as `+02:00`.
 */
function wallClock({ nanos }: Timestamp, zone: string): Date | CelError {
  const milliseconds = Number((nanos - (((nanos % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n)
  const offset = zoneOffset(zone, milliseconds)
  return offset instanceof CelError ? offset : new Date(milliseconds + offset)
}

function zoneOffset(zone: string, instant: number): number | CelError {
  if (zone === "" || zone === "UTC") return 0
  if (zone.includes(":")) {
    const [, sign, hours, minutes] = /^([+-]?)(\d+):(\d+)$/.exec(zone) ?? []
    if (hours === undefined) {
      const part = /^[+-]?\d+$/.test(zone.split(":")[0]!) ? zone.slice(zone.indexOf(":") + 1) : zone.split(":")[0]!
      return new CelError(`strconv.Atoi: parsing ${JSON.stringify(part)}: invalid syntax`)
    }
    return (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -1 : 1) * 60_000
  }
  return isTimeZone(zone) ? offsetAt(zone, instant) : new CelError(`unknown time zone ${zone}`)
}

function yearDay(date: Date): number {
  const start = new Date(0)
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1)
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000)
}

/** Declares a function that returns a part of a timestamp, with and without a time zone. */
function part(
  name: string,
  id: string,
  read: (date: Date) => number,
  more: readonly ReturnType<typeof member>[] = [],
): FunctionDeclaration {
  const inZone = (instant: Timestamp, zone: string): Value => {
    const date = wallClock(instant, zone)
    return date instanceof CelError ? date : read(date)
  }
  return declare(name, [
    member(id, [TIMESTAMP], INT, (instant: Timestamp) => inZone(instant, "")),
    member(`${id}_with_tz`, [TIMESTAMP, STRING], INT, inZone),
    ...more,
  ])
}

/** Declares a function that returns a duration in whole units. */
const whole = (id: string, unit: bigint) => [member(id, [DURATION], INT, ({ nanos }: Duration) => Number(nanos / unit))]

export const TIME: readonly FunctionDeclaration[] = [
  part("getFullYear", "timestamp_to_year", (date) => date.getUTCFullYear()),
  part("getMonth", "timestamp_to_month", (date) => date.getUTCMonth()),
  part("getDayOfYear", "timestamp_to_day_of_year", yearDay),
  part("getDayOfMonth", "timestamp_to_day_of_month", (date) => date.getUTCDate() - 1),
  part("getDate", "timestamp_to_day_of_month_1_based", (date) => date.getUTCDate()),
  part("getDayOfWeek", "timestamp_to_day_of_week", (date) => date.getUTCDay()),
  part("getHours", "timestamp_to_hours", (date) => date.getUTCHours(), whole("duration_to_hours", 3600n * SECOND)),
  part(
    "getMinutes",
    "timestamp_to_minutes",
    (date) => date.getUTCMinutes(),
    whole("duration_to_minutes", 60n * SECOND),
  ),
  part("getSeconds", "timestamp_to_seconds", (date) => date.getUTCSeconds(), whole("duration_to_seconds", SECOND)),
  part(
    "getMilliseconds",
    "timestamp_to_milliseconds",
    (date) => date.getUTCMilliseconds(),
    whole("duration_to_milliseconds", 1_000_000n),
  ),
]
