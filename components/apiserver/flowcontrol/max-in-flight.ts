import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Value } from "../../../pkg/metrics/registry.ts"
import type { UserInfo } from "../request.ts"

export interface MaxInFlightOptions {
  /** Reads and writes that may be under way at once. Source: apiserver pkg/server/config.go MaxRequestsInFlight 400, MaxMutatingRequestsInFlight 200. */
  readonly reads?: number
  readonly writes?: number
  /** Shown as apiserver_current_inflight_requests. */
  readonly readsGauge: Value
  readonly writesGauge: Value
}

/** Verbs that only read; what is not one of them counts as a write. */
const READS: readonly string[] = ["get", "list", "watch", "head", "options"]

/**
 * Turns requests away when too many are under way, rather than have all of them wait. Administrators are never turned away, and what runs long
 * by design (watches, exec, logs …) is not counted: the caller asks only for the others. Source: apiserver pkg/server/filters/maxinflight.go.
 */
export class MaxInFlight {
  private readonly limits: { readonly reads: number; readonly writes: number }
  private readonly gauges: { readonly reads: Value; readonly writes: Value }
  constructor({ reads = 400, writes = 200, readsGauge, writesGauge }: MaxInFlightOptions) {
    this.limits = { reads, writes }
    this.gauges = { reads: readsGauge, writes: writesGauge }
  }

  /** Lets a request in; the answer is to be told with `leave`. Throws TooManyRequests. */
  enter(user: UserInfo, verb: string): Value {
    const kind = READS.includes(verb) ? "reads" : "writes"
    const gauge = this.gauges[kind]
    if (gauge.value >= this.limits[kind] && !user.groups.includes("system:masters"))
      throw new ApiError("TooManyRequests", "Too many requests, please try again later.", { retryAfterSeconds: 1 })
    gauge.value++
    return gauge
  }

  leave(gauge: Value): void {
    gauge.value--
  }
}
