/** Wall clocks of time zones, from the platform's own zone data (Intl). */

/** Caches formats by the name of the zone. Emptied when full, since clients can write a name in thousands of ways. */
const formats = new Map<string, Intl.DateTimeFormat>()
const MOST_FORMATS = 500

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    era: "short",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  })
  if (formats.size >= MOST_FORMATS) formats.clear()
  formats.set(zone, made)
  return made
}

/** Intl also takes offsets as names of zones. Letter case does not matter to it. */
const OFFSET = /^[+-]\d/

/** Returns whether the platform knows an IANA zone of this name. */
export function isTimeZone(zone: string): boolean {
  try {
    const { timeZone } = formatOf(zone).resolvedOptions()
    return !OFFSET.test(zone) && (timeZone === zone || timeZone.toLowerCase() !== zone.toLowerCase())
  } catch {
    return false
  }
}

/**
 * Returns by how many milliseconds the zone's clocks are ahead of UTC at an instant.
 * @throws RangeError for an unknown zone
 */
export function offsetAt(zone: string, instant: number): number {
  if (zone === "UTC") return 0
  const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatOf(zone).formatToParts(instant)) part[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1000) * 1000
}

/** Formats an instant as RFC 3339 in the zone's time: `2026-03-29T03:00:00+02:00`, or with Z where the zone is UTC. */
export function formatInZone(zone: string, instant: number): string {
  const offset = offsetAt(zone, instant)
  const wall = new Date(instant + offset).toISOString().slice(0, 19)
  if (offset === 0) return `${wall}Z`
  const minutes = Math.abs(offset) / 60_000
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0")
  return `${wall}${offset < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`
}
