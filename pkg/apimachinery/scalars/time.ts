/** Parses and formats times and durations of the API. The current time comes from pkg/clock. */
import { Buffer } from "node:buffer"

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

/** Returns milliseconds since the epoch of an RFC 3339 time; undefined for other text. */
export function parseTime(text: string): number | undefined {
  const match = RFC3339.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = "", zone] = match
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  if (
    Number(month) < 1 ||
    Number(month) > 12 ||
    Number(day) < 1 ||
    Number(day) > days ||
    Number(hour) > 23 ||
    Number(minute) > 59 ||
    Number(second) > 59
  )
    return undefined
  if (zone!.length > 1 && (Number(zone!.slice(1, 3)) > 23 || Number(zone!.slice(4)) > 59)) return undefined
  const parsed = Date.parse(
    `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction.slice(0, 4)}${zone!.toUpperCase()}`,
  )
  return Number.isNaN(parsed) ? undefined : parsed
}

/**
 * The last formatted second. Most times in a burst of writes are in the same second and share one string: 30,000 pods
 * that become Ready within a second need one string instead of 30,000.
 */
let formatted = { second: Number.NaN, text: "" }

/** Formats a metav1.Time: RFC 3339 in UTC, whole seconds. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== formatted.second)
    formatted = { second, text: new Date(second * 1000).toISOString().replace(".000Z", "Z") }
  return formatted.text
}
/** Formats a metav1.MicroTime: RFC 3339 in UTC, with six digits after the second. */
export const formatMicroTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`

/** Returns a time as it is stored: in UTC and whole seconds; undefined for text that is not a time. */
export function canonicalTime(text: string): string | undefined {
  const ms = parseTime(text)
  return ms === undefined ? undefined : formatTime(ms)
}

/** Returns a MicroTime as it is stored. Its microseconds are kept, although JavaScript only counts milliseconds. */
export function canonicalMicroTime(text: string): string | undefined {
  const ms = parseTime(text)
  if (ms === undefined) return undefined
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? ""
  return `${formatTime(ms).slice(0, -1)}.${fraction.slice(0, 6).padEnd(6, "0")}Z`
}

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/**
 * Returns milliseconds of a Go duration (`1h15m30.5s`); undefined for other text. Reads character by character, as users
 * may write hundreds of kilobytes. Source: Go time.ParseDuration.
 */
export function parseDuration(text: string): number | undefined {
  const negative = text.startsWith("-")
  let at = negative || text.startsWith("+") ? 1 : 0
  if (at === text.length) return undefined
  if (at === text.length - 1 && text[at] === "0") return 0
  let total = 0
  while (at < text.length) {
    const start = at
    at = afterDigits(text, at)
    const digits = at - start
    if (text[at] === ".") at = afterDigits(text, at + 1)
    if (digits === 0 && at - start < 2) return undefined
    const unit = at
    while (at < text.length && text[at] !== "." && !isDigit(text.charCodeAt(at))) at++
    const name = text.slice(unit, at)
    if (!Object.hasOwn(UNITS, name)) return undefined
    total += Number(text.slice(start, unit)) * UNITS[name]!
    if (total > LONGEST_DURATION) return undefined
  }
  return negative ? -total : total
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

function afterDigits(text: string, start: number): number {
  let at = start
  while (isDigit(text.charCodeAt(at))) at++
  return at
}

/** Go counts nanoseconds in 63 bits. */
const LONGEST_DURATION = 2 ** 63 / 1e6

/** Returns Go's message for text that is not a duration; undefined for a valid one. Source: Go time.ParseDuration. */
export function durationProblem(text: string): string | undefined {
  if (parseDuration(text) !== undefined) return undefined
  let rest = text.replace(/^[+-]/, "")
  for (;;) {
    const [number] = /^(?:\d+(?:\.\d*)?|\.\d+)/.exec(rest) ?? []
    if (number === undefined || Number(number) >= 2 ** 63) return `time: invalid duration ${goQuoted(text)}`
    rest = rest.slice(number.length)
    const [unit] = /^[^.\d]*/.exec(rest)!
    if (unit === "") return `time: missing unit in duration ${goQuoted(text)}`
    if (!Object.hasOwn(UNITS, unit)) return `time: unknown unit ${goQuoted(unit)} in duration ${goQuoted(text)}`
    rest = rest.slice(unit.length)
  }
}

/** Quotes as Go's package time does: characters other than printable ASCII are shown as the bytes of their UTF-8. */
const goQuoted = (text: string): string =>
  `"${text.replaceAll(/["\\]/g, "\\$&").replaceAll(/[^\x20-\x7e]/gu, (char) => Buffer.from(char).toString("hex").replaceAll(/../g, "\\x$&"))}"`

/** Formats a duration as Go does: `1h0m0s`, `1.5s`, `300ms`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s"
  const [sign, size] = ms < 0 ? ["-", -ms] : ["", ms]
  if (size < 1000) {
    const [count, unit] = size >= 1 ? [size, "ms"] : size >= 1e-3 ? [size * 1e3, "µs"] : [size * 1e6, "ns"]
    return `${sign}${Number(count.toFixed(6))}${unit}`
  }
  const hours = Math.floor(size / 3_600_000)
  const minutes = Math.floor((size % 3_600_000) / 60_000)
  const seconds = Number(((size % 60_000) / 1000).toFixed(9))
  return `${sign}${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${seconds}s`
}

/**
 * Formats a duration for people, with two or three figures: the age in `kubectl get`. Source: apimachinery
 * pkg/util/duration.
 */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000)
  // A clock that is a little behind is not an error.
  if (seconds < -1) return "<invalid>"
  if (seconds < 0) return "0s"
  if (seconds < 120) return `${seconds}s`
  const two = (big: number, bigUnit: string, small: number, smallUnit: string) =>
    small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`
  const minutes = Math.trunc(seconds / 60)
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s")
  if (minutes < 180) return `${minutes}m`
  const hours = Math.trunc(minutes / 60)
  if (hours < 8) return two(hours, "h", minutes % 60, "m")
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (hours < 24 * 8) return two(days, "d", hours % 24, "h")
  if (days < 365 * 2) return `${days}d`
  const years = Math.trunc(days / 365)
  if (days < 365 * 8) return two(years, "y", days % 365, "d")
  return `${years}y`
}

/** Returns the age of an RFC 3339 time: `5m`, or `<unknown>` when undefined. `now` in milliseconds. */
export function ageOf(time: string | null | undefined, now: number): string {
  const then = time ? parseTime(time) : undefined
  return then === undefined ? "<unknown>" : humanDuration(now - then)
}
