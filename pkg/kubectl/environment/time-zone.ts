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
