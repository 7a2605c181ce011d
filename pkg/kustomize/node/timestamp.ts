import { trimRight } from "../../apimachinery/go/go-text.ts"

const DATE = /^(\d{4})-(\d{1,2})-(\d{1,2})$/
const ZONED = /^(\d{4})-(\d{1,2})-(\d{1,2})[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})([.,]\d+)?(Z|[+-]\d\d:\d\d)$/
const SPACED = /^(\d{4})-(\d{1,2})-(\d{1,2}) (\d{1,2}):(\d{1,2}):(\d{1,2})([.,]\d+)?$/

/**
 * Returns a time of YAML as RFC 3339 writes it; undefined for other text. Source: go.yaml.in/yaml/v3 resolve.go
 * parseTimestamp, and Go's time.RFC3339Nano.
 */
export function timestampOf(text: string): string | undefined {
  const match = DATE.exec(text) ?? ZONED.exec(text) ?? SPACED.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hours = "0", minutes = "0", seconds = "0", fraction = "", zone = "Z"] = match
  if (!isDay(Number(year), Number(month), Number(day))) return undefined
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const pad = (number: string) => number.padStart(2, "0")
  const digits = trimRight(fraction.slice(1, 10), "0")
  const offset = /^[+-]00:00$/.test(zone) ? "Z" : zone
  return `${year}-${pad(month!)}-${pad(day!)}T${pad(hours)}:${pad(minutes)}:${pad(seconds)}${digits === "" ? "" : `.${digits}`}${offset}`
}

function isDay(year: number, month: number, day: number): boolean {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  return days !== undefined && day >= 1 && day <= days
}
