import type { Value } from "../../../pkg/metrics/registry.ts"
import type { UserInfo } from "../request.ts"

/** How many requests may be under way at once; 0 for any number. */
export interface InFlightLimits {
  readonly reads: number
  readonly writes: number
}

/** Source: apiserver pkg/server/config.go MaxRequestsInFlight, MaxMutatingRequestsInFlight. */
export const DEFAULT_LIMITS: InFlightLimits = { reads: 400, writes: 200 }

/** Shown as apiserver_current_inflight_requests. */
export interface InFlightGauges {
  readonly reads: Value
  readonly writes: Value
}

/** Seconds after which whoever is turned away may come again. */
export const RETRY_AFTER_SECONDS = 1

/** Verbs that only read; what is not one of them counts as a write. */
const READS: readonly string[] = ["get", "list", "watch", "head", "options"]

/**
 * Turns requests away when too many are under way, rather than have all of them wait. Administrators are never turned away, and what runs long
 * by design (watches, exec, logs …) is not counted: the caller asks only for the others. Source: apiserver pkg/server/filters/maxinflight.go.
 */
export class MaxInFlight {
  readonly #limits: InFlightLimits
  readonly #gauges: InFlightGauges
  constructor(limits: InFlightLimits, gauges: InFlightGauges) {
    this.#limits = limits
    this.#gauges = gauges
  }

  /** Lets a request in; its end is to be told with `leave`. Nothing when there are too many. */
  enter(user: UserInfo, verb: string): Value | undefined {
    const kind = READS.includes(verb) ? "reads" : "writes"
    const [gauge, limit] = [this.#gauges[kind], this.#limits[kind]]
    if (limit > 0 && gauge.value >= limit && !user.groups.includes("system:masters")) return undefined
    gauge.value++
    return gauge
  }

  leave(gauge: Value): void {
    gauge.value--
  }
}
