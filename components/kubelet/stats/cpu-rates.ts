/** A reading of used processor time; `at` is in milliseconds since the epoch. */
interface Point {
  readonly at: number
  readonly nanoseconds: number
}

/** The shortest interval over which a rate is computed; over a shorter one the rate would be mostly chance. */
const SHORTEST_MS = 1000
/** After this interval, in milliseconds, the reading from which rates are computed is replaced by the current one. */
const WINDOW_MS = 10_000

/**
 * Computes processor usage in nanocores, between two readings that callers asked for: nothing reads cgroups at other
 * times. The first rate is the average since the start.
 */
export class CpuRates {
  #points = new Map<string, Point & { rate: number | undefined }>()

  /** Starts a round of readings. Ids without a reading in one round are forgotten in the next. */
  begin(): CpuRateAsking {
    const before = this.#points
    const next: typeof before = (this.#points = new Map())
    return (id, since, now) => {
      const point = before.get(id) ?? { at: since, nanoseconds: 0, rate: undefined }
      const distance = now.at - point.at
      if (distance < SHORTEST_MS || now.nanoseconds < point.nanoseconds) {
        next.set(id, now.nanoseconds < point.nanoseconds ? { ...now, rate: undefined } : point)
        return point.rate
      }
      const rate = Math.round((now.nanoseconds - point.nanoseconds) / (distance / 1000))
      next.set(id, distance < WINDOW_MS && before.has(id) ? { ...point, rate } : { ...now, rate })
      return rate
    }
  }
}

/** Returns the rate of an id whose usage began at `since`; undefined when it is too early for a rate. */
export type CpuRateAsking = (id: string, since: number, now: Point) => number | undefined
