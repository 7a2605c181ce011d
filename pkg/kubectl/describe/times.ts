import { parseTime } from "../../apimachinery/scalars/time.ts"
import type { TimeZone } from "../environment/time-zone.ts"

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
const two = (number: number): string => String(number).padStart(2, "0")

/** How Go writes the time that an object does not have. */
const ZERO = "Mon, 01 Jan 0001 00:00:00 +0000"

/** Returns a time as Go's time.RFC1123Z: `Mon, 02 Jan 2006 15:04:05 -0700`. */
export function longTime(text: string | null | undefined, zone: TimeZone): string {
  const ms = !text ? undefined : parseTime(text)
  if (ms === undefined) return ZERO
  const at = local(ms, zone)
  const date = `${DAYS[at.getUTCDay()]}, ${two(at.getUTCDate())} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`
  return `${date} ${clockOf(at)} ${offsetText(zone.offset(ms))}`
}

/** Returns a time as Go's Time.String: `2006-01-02 15:04:05 -0700 MST`. */
export function plainTime(text: string | null | undefined, zone: TimeZone): string {
  const ms = !text ? undefined : parseTime(text)
  if (ms === undefined) return "0001-01-01 00:00:00 +0000 UTC"
  const at = local(ms, zone)
  const date = `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`
  return `${date} ${clockOf(at)} ${offsetText(zone.offset(ms))} ${zone.abbreviation(ms)}`
}

/** A date whose UTC fields are those of the zone. */
const local = (ms: number, zone: TimeZone): Date => new Date(ms + zone.offset(ms) * 60_000)

const clockOf = (at: Date): string => `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`

function offsetText(minutes: number): string {
  const size = Math.abs(minutes)
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}${two(size % 60)}`
}
