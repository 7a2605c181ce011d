import { parseDuration } from "../apimachinery/scalars/time.ts"
import { isTimeZone } from "./zone.ts"

/**
 * A schedule of a CronJob: five fields of cron, or a shorthand. Source of the grammar: robfig/cron ParseStandard, which
 * upstream uses.
 */
export interface CronSchedule {
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly daysOfMonth: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>
  /** When both day fields restrict the days, a day has to match one of them; else it has to match both. */
  readonly anyDayOfMonth: boolean
  readonly anyDayOfWeek: boolean
}
/** `@every 1h30m`: milliseconds between runs. */
export interface CronInterval {
  readonly every: number
}

const SHORTHANDS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
}
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

interface Range {
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}
const FIELDS: readonly Range[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: DAYS },
]

/**
 * Parses a schedule that may name its own zone: `CRON_TZ=Europe/Berlin 0 6 * * *`, or with `TZ=`. For an invalid text
 * returns a sentence that says what is wrong with it.
 */
export function parseZonedCron(
  text: string,
): { readonly schedule: CronSchedule | CronInterval; readonly zone?: string } | string {
  const [, zone, rest] = /^(?:CRON_)?TZ=(\S*)\s*(.*)$/.exec(text) ?? []
  if (zone !== undefined && !isTimeZone(zone)) return `provided bad location ${zone}: unknown time zone ${zone}`
  const schedule = parseCron(rest ?? text)
  return typeof schedule === "string" ? schedule : { schedule, ...(zone === undefined ? {} : { zone }) }
}

/** Parses a schedule. For an invalid text returns a sentence that says what is wrong with it. */
export function parseCron(text: string): CronSchedule | CronInterval | string {
  if (text.startsWith("@")) {
    const every = /^@every (.+)$/.exec(text)
    if (every !== null) {
      const ms = parseDuration(every[1]!)
      return ms === undefined
        ? `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(every[1])}`
        : { every: Math.max(1000, ms - (ms % 1000)) }
    }
    const known = SHORTHANDS[text]
    return known === undefined ? `unrecognized descriptor: ${text}` : parseCron(known)
  }
  const words = text.split(/\s+/).filter((word) => word !== "")
  if (words.length === 0) return "empty spec string"
  if (words.length !== FIELDS.length) return `expected exactly 5 fields, found ${words.length}: [${words.join(" ")}]`
  const sets: Set<number>[] = []
  // A field of 800 KB says the same many times: each part is read once.
  const fields = words.map((word) => new Set(word.split(",")))
  for (const [i, parts] of fields.entries()) {
    const values = parseField(parts, FIELDS[i]!)
    if (typeof values === "string") return values
    sets.push(values)
  }
  const any = (parts: ReadonlySet<string>) => ["*", "?", "*/1", "?/1"].some((part) => parts.has(part))
  return {
    minutes: sets[0]!,
    hours: sets[1]!,
    daysOfMonth: sets[2]!,
    months: sets[3]!,
    daysOfWeek: sets[4]!,
    anyDayOfMonth: any(fields[2]!),
    anyDayOfWeek: any(fields[4]!),
  }
}

function parseField(parts: ReadonlySet<string>, range: Range): Set<number> | string {
  const values = new Set<number>()
  for (const part of parts) {
    const [span = "", step, ...more] = part.split("/")
    if (more.length > 0) return `too many slashes: ${part}`
    const [low = "", high, ...rest] = span.split("-")
    if (rest.length > 0) return `too many hyphens: ${part}`
    const every = low === "*" || low === "?"
    const start = every ? range.min : valueOf(low, range)
    if (typeof start === "string") return start
    // A single number with a step runs to the end of its range: 5/15 is 5, 20, 35, 50.
    const end =
      every || (high === undefined && step !== undefined)
        ? range.max
        : high === undefined
          ? start
          : valueOf(high, range)
    if (typeof end === "string") return end
    const by = step === undefined ? 1 : valueOf(step, { min: 0, max: range.max })
    if (typeof by === "string") return by
    if (start < range.min) return `beginning of range (${start}) below minimum (${range.min}): ${part}`
    if (end > range.max) return `end of range (${end}) above maximum (${range.max}): ${part}`
    if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${part}`
    if (by === 0) return `step of range should be a positive number: ${part}`
    for (let value = start; value <= end; value += by) values.add(value)
  }
  return values
}

function valueOf(word: string, { names = [], min }: Range): number | string {
  const named = names.indexOf(word.toLowerCase())
  if (named !== -1) return named + min
  return /^[0-9]+$/.test(word)
    ? Number(word)
    : `failed to parse int from ${word}: strconv.Atoi: parsing ${JSON.stringify(word)}: invalid syntax`
}
