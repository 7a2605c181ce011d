/** The zone of the user's times. */
export interface TimeZone {
  /** Minutes by which the zone is ahead of UTC at a time in milliseconds since the epoch. */
  offset(ms: number): number
  /** The short name of the zone at that time: `UTC`, `CET`. */
  abbreviation(ms: number): string
}

export const UTC: TimeZone = { offset: () => 0, abbreviation: () => "UTC" }

/** The zone of this machine, or the one that the variable TZ names. */
export const hostZone: TimeZone = {
  offset: (ms) => -new Date(ms).getTimezoneOffset(),
  abbreviation(ms) {
    // Each locale knows the short names of its own part of the world, and has an offset for others.
    const names = ["en-US", "en-GB", "en-CA", "en-AU"].map((locale) => shortName(ms, locale))
    return names.find((name) => !/^(?:GMT|UTC).+/.test(name)) ?? names[0]!
  },
}

const shortName = (ms: number, locale: string): string =>
  new Intl.DateTimeFormat(locale, { timeZoneName: "short" })
    .formatToParts(ms)
    .find(({ type }) => type === "timeZoneName")?.value ?? "UTC"

/** Returns a time in the zone, in whole seconds as Go's time.RFC3339: `2006-01-02T15:04:05+07:00`. */
export function rfc3339(ms: number, zone: TimeZone): string {
  const minutes = zone.offset(ms)
  const text = new Date(Math.floor(ms / 1000) * 1000 + minutes * 60_000).toISOString().slice(0, 19)
  if (minutes === 0) return `${text}Z`
  const size = Math.abs(minutes)
  const two = (number: number) => String(number).padStart(2, "0")
  return `${text}${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`
}
