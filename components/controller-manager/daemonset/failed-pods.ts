import type { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"

const FIRST_MS = 1000
const LONGEST_MS = 900_000

/**
 * Delays the replacement of failed pods, because a kubelet that rejects one pod rejects the next: 1 s, doubling, at
 * most 15 minutes. The delay starts over when twice the longest delay has passed. Source: failedPodsBackoff in
 * pkg/controller/daemon, client-go util/flowcontrol Backoff.
 */
export class FailedPodBackoff {
  readonly #entries = new Map<string, { readonly delay: number; readonly since: number }>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Returns 0 and records the replacement when the pod on this node may be replaced now; else the milliseconds until
   * then.
   */
  wait({ metadata, status }: DaemonSet, node: string): number {
    const key = `${metadata.uid}/${status.observedGeneration ?? 0}/${node}`
    const now = this.#clock.monotonic()
    const before = this.#entries.get(key)
    if (before !== undefined && now < before.since + before.delay) return before.since + before.delay - now
    const fresh = before === undefined || now - before.since > 2 * LONGEST_MS
    this.#entries.set(key, { delay: fresh ? FIRST_MS : Math.min(LONGEST_MS, before.delay * 2), since: now })
    return 0
  }

  /** Drops the state of deleted DaemonSets. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const key of this.#entries.keys()) if (!uids.has(key.slice(0, key.indexOf("/")))) this.#entries.delete(key)
  }
}
