import { quotedRune } from "../go-fmt/quote.ts"

/** Returns what is wrong with a duration of ISO 8601. */
export function durationFault(text: string): string | undefined {
  if (!text.startsWith("P")) return "must start with P"
  const rest = text.slice(1)
  if (rest === "") return "nothing after P"
  if (rest.endsWith("W")) {
    const weeks = rest.slice(0, -1)
    return weeks === "" ? "no number in week" : /^\d+$/.test(weeks) ? undefined : "invalid week"
  }
  for (const [i, part] of rest.split("T").entries()) {
    if (i > 0 && part === "") return "no time elements"
    const allowed = ["YMD", "HMS"][i]
    if (allowed === undefined) return "more than one T"
    let units = allowed
    for (let at = part; at !== "";) {
      const [digits = ""] = /^\d*/.exec(at)!
      if (digits === "") return "missing number"
      const unit = at[digits.length]
      if (unit === undefined) return "missing unit"
      const found = units.indexOf(unit)
      if (found < 0)
        return `${allowed.includes(unit) ? "" : "invalid "}unit ${quotedRune(unit)}${allowed.includes(unit) ? " out of order" : ""}`
      units = units.slice(found + 1)
      at = at.slice(digits.length + 1)
    }
  }
  return undefined
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

/** Returns what is wrong with a date, in the words of Go's time.Parse. */
export function dateFault(text: string): string | undefined {
  const fault = (message: string) => `parsing time ${JSON.stringify(text)}${message}`
  const cannot = (rest: string, as: string) =>
    fault(` as "2006-01-02": cannot parse ${JSON.stringify(rest)} as "${as}"`)
  if (!/^\d{4}/.test(text)) return cannot(text, "2006")
  const parts: [number, string][] = [
    [4, "-"],
    [5, "01"],
    [7, "-"],
    [8, "02"],
  ]
  for (const [at, wanted] of parts) {
    const rest = text.slice(at)
    if (wanted === "-" ? !rest.startsWith("-") : !/^\d\d/.test(rest)) return cannot(rest, wanted)
    if (wanted === "01" && !(Number(rest.slice(0, 2)) >= 1 && Number(rest.slice(0, 2)) <= 12))
      return fault(": month out of range")
  }
  if (text.length > 10) return fault(`: extra text: ${JSON.stringify(text.slice(10))}`)
  const [year = 0, month = 1, day = 0] = text.split("-").map(Number)
  const days = month === 2 && isLeap(year) ? 29 : DAYS[month - 1]!
  return day < 1 || day > days ? fault(": day out of range") : undefined
}

/** Returns what is wrong with a time of RFC 3339. */
export function timeFault(text: string): string | undefined {
  if (text.length < 9) return "less than 9 characters long"
  if (text[2] !== ":" || text[5] !== ":") return "missing colon in correct place"
  const parts = text.slice(0, 8).split(":")
  if (parts.length !== 3 || parts.some((part) => !/^[+-]?\d+$/.test(part))) return "invalid hour/min/sec"
  const [hours = 0, minutes = 0, second = 0] = parts.map(Number)
  let [hour, minute] = [hours, minutes]
  if ([hour, minute, second].some((part) => part < 0)) return "non-positive hour/min/sec"
  if (hour > 23 || minute > 59 || second > 60) return "hour/min/sec out of range"
  const fraction = /^\.(\d*)/.exec(text.slice(8))
  if (fraction?.[1] === "") return "no digits in second fraction"
  const zone = text.slice(8 + (fraction?.[0].length ?? 0))
  if (zone !== "z" && zone !== "Z") {
    if (zone.length !== 6) return "offset must be 6 characters long"
    if (!/^[+-]/.test(zone)) return "offset must begin with plus/minus"
    if (zone[3] !== ":") return "missing colon in offset in correct place"
    const [zoneHours = 0, zoneMinutes = 0] = zone.slice(1).split(":").map(Number)
    if (Number.isNaN(zoneHours) || Number.isNaN(zoneMinutes)) return "invalid hour/min in offset"
    if (zoneHours > 23 || zoneMinutes > 59) return "hour/min in offset out of range"
    const day = 24 * 60
    const offset = (zone.startsWith("+") ? -1 : 1) * (zoneHours * 60 + zoneMinutes)
    const utc = (hour * 60 + minute + offset + day) % day
    hour = Math.floor(utc / 60)
    minute = utc % 60
  }
  return second >= 60 && (hour !== 23 || minute !== 59) ? "invalid leap second" : undefined
}

/** Returns what is wrong with a date and a time of RFC 3339. */
export function dateTimeFault(text: string): string | undefined {
  if (text.length < 20) return "less than 20 characters long"
  if (!/^.{10}t/i.test(text)) return "11th character must be t or T"
  const date = dateFault(text.slice(0, 10))
  if (date !== undefined) return `invalid date element: ${date}`
  const time = timeFault(text.slice(11))
  return time === undefined ? undefined : `invalid time element: ${time}`
}

/** Returns what is wrong with two moments, or a moment and a duration, with a slash between them. */
export function periodFault(text: string): string | undefined {
  const slash = text.indexOf("/")
  if (slash < 0) return "missing slash"
  const [start, end] = [text.slice(0, slash), text.slice(slash + 1)]
  const check = (which: string, part: string, mayLast: boolean): string | undefined => {
    const lasts = mayLast && part.startsWith("P")
    const fault = lasts ? durationFault(part) : dateTimeFault(part)
    return fault === undefined ? undefined : `invalid ${which} ${lasts ? "duration" : "date-time"}: ${fault}`
  }
  return check("start", start, true) ?? check("end", end, !start.startsWith("P"))
}
