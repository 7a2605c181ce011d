import { FairShare } from "../../../pkg/flow/fair-share.ts"
import type { Value } from "../../../pkg/metrics/registry.ts"
import type { UserInfo } from "../request.ts"
import { isExempt } from "./exempt.ts"

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

/** What a request holds while it is under way. */
export interface Slot {
  readonly gauge: Value
  readonly share: FairShare
}

/** Verbs that only read; what is not one of them counts as a write. */
const READS: readonly string[] = ["get", "list", "watch", "head", "options"]

/**
 * Turns requests away when too many are under way, rather than have all of them wait, and sees to it that no user has
 * all the places. What runs long by design (watches, exec, logs …) is not counted: the caller asks only for the others.
 * Source: apiserver pkg/server/filters/maxinflight.go. Differs from upstream: a user gets a share, and not whatever is
 * left.
 */
export class MaxInFlight {
  readonly #reads: Slot
  readonly #writes: Slot
  constructor(limits: InFlightLimits, gauges: InFlightGauges) {
    this.#reads = { gauge: gauges.reads, share: new FairShare(limits.reads) }
    this.#writes = { gauge: gauges.writes, share: new FairShare(limits.writes) }
  }

  /**
   * Lets a request in; its end is to be told with `leave`. Undefined when there are too many, in all or of this user.
   */
  enter(user: UserInfo, verb: string): Slot | undefined {
    const slot = READS.includes(verb) ? this.#reads : this.#writes
    if (!isExempt(user) && !slot.share.take(user.name)) return undefined
    slot.gauge.value++
    return slot
  }

  /** Counts a request that others let in for as long as it goes on. */
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
