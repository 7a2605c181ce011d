/** Times in milliseconds since 1970. */
interface Point {
  readonly at: number
  readonly nanoseconds: number
}

/** A shorter distance says more of when was looked than of what was used. */
const SHORTEST_MS = 1000
/** After this the point from which is counted moves on. */
const WINDOW_MS = 10_000

/**
 * How many billionths of a core something uses, over the time since somebody last asked: nobody looks at cgroups in
 * between. At the first asking it is the mean since the beginning.
 */
export class CpuRates {
  #points = new Map<string, Point & { rate: number | undefined }>()

  /** Begins to ask for everything anew: what is not asked for until the next `begin` is forgotten. */
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

/** The rate of the thing with that id, which began at `since`; undefined where it is too early to tell. */
export type CpuRateAsking = (id: string, since: number, now: Point) => number | undefined
