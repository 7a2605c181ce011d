import { FairShare } from "../../../pkg/flow/fair-share.ts"
import type { Value } from "../../../pkg/metrics/registry.ts"
import type { UserInfo } from "../call/request.ts"
import { isExempt } from "./exempt.ts"

/** The most requests in progress at once; 0 means no limit. */
export interface InFlightLimits {
  readonly reads: number
  readonly writes: number
}

/** Source: apiserver pkg/server/config.go MaxRequestsInFlight, MaxMutatingRequestsInFlight. */
export const DEFAULT_LIMITS: InFlightLimits = { reads: 400, writes: 200 }

/** The values of the metric apiserver_current_inflight_requests. */
export interface InFlightGauges {
  readonly reads: Value
  readonly writes: Value
}

/** What a request holds while it is in progress. */
export interface Slot {
  readonly gauge: Value
  readonly share: FairShare
}

/** The verbs that count as reads; all others count as writes. */
const READS: readonly string[] = ["get", "list", "watch", "head", "options"]

/**
 * Rejects requests when too many are in progress, instead of making all of them slow, and keeps one user from taking
 * all places. Long-running requests (watches, exec, logs …) are not counted: the caller does not call `enter` for them.
 * Source: apiserver pkg/server/filters/maxinflight.go. Differs from upstream: a user gets a share of the places, and
 * not all free ones.
 */
export class MaxInFlight {
  readonly #reads: Slot
  readonly #writes: Slot
  constructor(limits: InFlightLimits, gauges: InFlightGauges) {
    this.#reads = { gauge: gauges.reads, share: new FairShare(limits.reads) }
    this.#writes = { gauge: gauges.writes, share: new FairShare(limits.writes) }
  }

  /**
   * Admits a request, whose end the caller reports with `leave`. Returns undefined when too many are in progress, in
   * all or of this user.
   */
  enter(user: UserInfo, verb: string): Slot | undefined {
    const slot = READS.includes(verb) ? this.#reads : this.#writes
    if (!isExempt(user) && !slot.share.take(user.name)) return undefined
    slot.gauge.value++
    return slot
  }

  /** Counts a request that flow control admitted, until `pending` settles. */
  counted(verb: string, pending: void | Promise<void>): void | Promise<void> {
    if (pending === undefined) return undefined
    const { gauge } = READS.includes(verb) ? this.#reads : this.#writes
    gauge.value++
    const over = () => void gauge.value--
    pending.then(over, over)
    return pending
  }

  leave({ gauge, share }: Slot, user: UserInfo): void {
    gauge.value--
    if (!isExempt(user)) share.giveBack(user.name)
  }
}
