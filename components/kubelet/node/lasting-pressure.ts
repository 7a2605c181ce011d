import type { Pressure } from "../model/pressure.ts"

/**
 * Keeps the conditions of a node for a time after the last pressure, so that what was evicted does not come back to the
 * node at once. Source: pkg/kubelet/eviction/helpers.go nodeConditionsObservedSince.
 */
export class LastingPressure {
  readonly #seen = new Map<keyof Pressure, number>()

  /**
   * Returns the pressure that the conditions tell.
   * @param observed the pressure now
   * @param now milliseconds of a monotonic clock
   * @param transitionMs how long a condition stays after the pressure
   */
  after(observed: Pressure, now: number, transitionMs: number): Pressure {
    const lasts = (kind: keyof Pressure): boolean => {
      if (observed[kind]) this.#seen.set(kind, now)
      return observed[kind] || now - (this.#seen.get(kind) ?? -Infinity) < transitionMs
    }
    return { memory: lasts("memory"), disk: lasts("disk"), pid: lasts("pid") }
  }
}
