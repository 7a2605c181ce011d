const SECONDS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }

/** Returns the seconds of a duration such as `1h30m`; 0 for what is none. Source: Go time.ParseDuration. */
export function durationOf(value: string): number {
  const [, sign, parts = ""] = /^([+-]?)((?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+)$/.exec(value) ?? []
  const seconds = [...parts.matchAll(/(?<!\d)(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * SECONDS[unit!]!,
    0,
  )
  return sign === "-" ? -seconds : seconds
}
