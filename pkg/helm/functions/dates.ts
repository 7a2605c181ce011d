import { goInt, numberOf } from "../../go-fmt/go-number.ts"
import { GoObject } from "../../go-fmt/go-object.ts"
import type { TemplateFunction } from "../../go-template/functions.ts"
import { durationOf } from "./durations.ts"
import { anyOf, int64, integer, text } from "./convert.ts"

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
]
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
const two = (value: number) => String(value).padStart(2, "0")

/** What a part of Go's reference time stands for. All times are in UTC. Source: Go time/format.go. */
const PARTS: Readonly<Record<string, (date: Date) => string>> = {
  January: (date) => MONTHS[date.getUTCMonth()]!,
  Jan: (date) => MONTHS[date.getUTCMonth()]!.slice(0, 3),
  Monday: (date) => DAYS[date.getUTCDay()]!,
  Mon: (date) => DAYS[date.getUTCDay()]!.slice(0, 3),
  "2006": (date) => String(date.getUTCFullYear()).padStart(4, "0"),
  "06": (date) => two(date.getUTCFullYear() % 100),
  "01": (date) => two(date.getUTCMonth() + 1),
  "1": (date) => String(date.getUTCMonth() + 1),
  "02": (date) => two(date.getUTCDate()),
  _2: (date) => String(date.getUTCDate()).padStart(2),
  "2": (date) => String(date.getUTCDate()),
  "15": (date) => two(date.getUTCHours()),
  "03": (date) => two(date.getUTCHours() % 12 || 12),
  "3": (date) => String(date.getUTCHours() % 12 || 12),
  "04": (date) => two(date.getUTCMinutes()),
  "4": (date) => String(date.getUTCMinutes()),
  "05": (date) => two(date.getUTCSeconds()),
  "5": (date) => String(date.getUTCSeconds()),
  PM: (date) => (date.getUTCHours() < 12 ? "AM" : "PM"),
  pm: (date) => (date.getUTCHours() < 12 ? "am" : "pm"),
  MST: () => "UTC",
  "Z07:00": () => "Z",
  "-07:00": () => "+00:00",
  "-0700": () => "+0000",
}
const PART = /January|Jan|Monday|Mon|MST|2006|Z07:00|-07:00|-0700|01|02|03|04|05|06|15|PM|pm|_2|[1-5]/g

const formatted = (layout: string, at: number): string =>
  layout
    .replace(PART, (part) => PARTS[part]!(new Date(at)))
    .replace(/\.0{3}(?!\d)/, `.${String(at % 1000).padStart(3, "0")}`)

/** A time in milliseconds since the epoch. */
const TIME = Symbol("time")
const timeObject = (at: number): GoObject =>
  new GoObject({
    type: "time.Time",
    text: formatted("2006-01-02 15:04:05 -0700 MST", at),
    fields: { [TIME]: at } as Readonly<Record<string, unknown>>,
    methods: {
      Unix: () => int64(Math.floor(at / 1000)),
      UnixNano: () => int64(BigInt(Math.floor(at)) * 1_000_000n),
      Year: () => goInt(new Date(at).getUTCFullYear()),
      Day: () => goInt(new Date(at).getUTCDate()),
      UTC: () => timeObject(at),
      Format: (layout) => formatted(text(layout), at),
      String: () => formatted("2006-01-02 15:04:05 -0700 MST", at),
    },
  })

/** Functions of times, which are all in UTC. Source of names and rules: Masterminds/sprig date.go. */
export function dateFunctions(now: () => number): Readonly<Record<string, TemplateFunction>> {
  const timeOf = (value: unknown): number => {
    if (value instanceof GoObject) return (value.fields as { readonly [TIME]?: number })[TIME] ?? now()
    return numberOf(value) === undefined ? now() : Number(integer(value)) * 1000
  }
  const date = anyOf((layout, value) => formatted(text(layout), timeOf(value)))
  const modify = anyOf((by, value) => timeObject(timeOf(value) + durationOf(text(by)) * 1000))
  const html = anyOf((value) => formatted("2006-01-02", timeOf(value)))
  return {
    now: anyOf(() => timeObject(now())),
    date,
    dateInZone: date,
    date_in_zone: date,
    htmlDate: html,
    htmlDateInZone: html,
    dateModify: modify,
    date_modify: modify,
    mustDateModify: modify,
    must_date_modify: modify,
    unixEpoch: anyOf((value) => String(Math.floor(timeOf(value) / 1000))),
  }
}
