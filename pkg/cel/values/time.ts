/** Parses and formats timestamps and durations as Go does. Source: Go's time package. */

const SECOND = 1_000_000_000n

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/

/** Returns the nanoseconds since the epoch of an RFC 3339 string; undefined for other strings. */
export function parseTimestamp(text: string): bigint | undefined {
  const match = RFC3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1) return undefined
  const [sign, hours, minutes] = [match[8], Number(match[9] ?? 0), Number(match[10] ?? 0)]
  if (hours > 24 || minutes > 59) return undefined
  const offset = (hours * 60 + minutes) * (sign === "-" ? -1 : 1)
  const seconds = BigInt(date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset * 60)
  return seconds * SECOND + BigInt((match[7] ?? "").slice(0, 9).padEnd(9, "0"))
}

/** Formats as RFC 3339 in UTC, with as many digits of the second as needed. */
export function formatTimestamp(nanos: bigint): string {
  const rest = ((nanos % SECOND) + SECOND) % SECOND
  const date = new Date(Number((nanos - rest) / 1_000_000n))
  let digits = String(rest).padStart(9, "0")
  while (digits.endsWith("0")) digits = digits.slice(0, -1)
  const fraction = digits === "" ? "" : `.${digits}`
  const [day = "", time = ""] = date.toISOString().split("T")
  return `${day.replace(/^[+-]0*(?=\d{4}-)/, "")}T${time.slice(0, 8)}${fraction}Z`
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: SECOND,
  m: 60n * SECOND,
  h: 3600n * SECOND,
}
const LONGEST = (1n << 63n) - 1n

/** A number and its unit. */
const PART = /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y

/**
 * Returns the nanoseconds of a string such as `1h30m` or `-1.5s`; undefined for other strings, and for more than 64
 * bits.
 */
export function parseDuration(text: string): bigint | undefined {
  const sign = text.startsWith("-") ? -1n : 1n
  const body = text.replace(/^[+-]/, "")
  if (body === "0") return 0n
  if (body === "") return undefined
  let sum = 0n
  for (PART.lastIndex = 0; PART.lastIndex < body.length;) {
    const [, whole = "", fraction = "", unit] = PART.exec(body) ?? []
    if (unit === undefined || whole + fraction === "" || whole.replace(/^0+/, "").length > 19) return undefined
    // Go reads no more digits of a fraction than an int64 can hold.
    const digits = fraction.slice(0, 18)
    sum += BigInt(whole || "0") * UNITS[unit]! + (BigInt(digits || "0") * UNITS[unit]!) / 10n ** BigInt(digits.length)
    if (sum > LONGEST + 1n) return undefined
  }
  if (sum > LONGEST && (sign > 0n || sum > LONGEST + 1n)) return undefined
  return sign * sum
}
