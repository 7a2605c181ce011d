import { parseDuration, parseTimestamp } from "./values/time.ts"

/** Parses strings of OpenAPI formats. Source: kube-openapi pkg/validation/strfmt. */

const DATE = /^\d{4}-\d\d-\d\d$/
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:[.,]\d+)?)(Z|z|[+-]\d\d:?\d\d)?$/

/** Returns the nanoseconds since the epoch of a date, or a date with a time; undefined for other strings. */
export function parseDateTime(text: string): bigint | undefined {
  if (DATE.test(text)) return parseTimestamp(`${text}T00:00:00Z`)
  const [, date, time, zone = "Z"] = DATE_TIME.exec(text) ?? []
  if (date === undefined) return undefined
  return parseTimestamp(`${date}T${time}${zone.toUpperCase().replace(/^([+-]\d\d)(\d\d)$/, "$1:$2")}`)
}

const MINUTE = 60_000_000_000n
const WORDS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  nano: 1n,
  us: 1000n,
  µs: 1000n,
  micro: 1000n,
  ms: 1_000_000n,
  milli: 1_000_000n,
  s: 1_000_000_000n,
  sec: 1_000_000_000n,
  m: MINUTE,
  min: MINUTE,
  h: 60n * MINUTE,
  hr: 60n * MINUTE,
  hour: 60n * MINUTE,
  d: 1440n * MINUTE,
  day: 1440n * MINUTE,
  w: 10_080n * MINUTE,
  wk: 10_080n * MINUTE,
  week: 10_080n * MINUTE,
}

/** Longer strings are refused. Differs from upstream, which reads any number of parts. */
const LONGEST = 100

/**
 * Returns the nanoseconds of a duration in a schema: Go's format, or words such as `2 days`; undefined for other
 * strings.
 */
export function parseSchemaDuration(text: string): bigint | undefined {
  if (text.length > LONGEST) return undefined
  const plain = parseDuration(text)
  if (plain !== undefined) return plain
  const parts = [...text.matchAll(/(-?\d{1,20})\s{0,9}([A-Za-zµ]{1,9})/g)]
  if (parts.length === 0) return undefined
  let sum = 0n
  for (const [, count = "", unit = ""] of parts) {
    const size = WORDS[unit] ?? WORDS[unit.replace(/s$/, "")]
    if (size === undefined) return undefined
    sum += BigInt(count) * size
  }
  return sum
}
