import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"

/**
 * How often upstream lets etcd forget all that is older than the time before. Source: apiserver
 * pkg/storage/storagebackend DefaultCompactInterval.
 */
const INTERVAL_MS = 5 * 60_000

/**
 * How far back clients may go, whatever is kept behind it: lists that are continued and watches that are resumed from
 * before are told to begin anew within ten minutes, as upstream. So clients that forget to handle this learn it here,
 * and not first elsewhere.
 */
export class ClientHistory {
  readonly #storage: Storage
  readonly #clock: Clock
  /** Intervals from the epoch to when `#revision` was looked up. */
  #interval = -1
  #revision = 0

  constructor({ storage, clock }: { readonly storage: Storage; readonly clock: Clock }) {
    this.#storage = storage
    this.#clock = clock
  }

  /**
   * What was before this revision has expired. No timer is needed: it is worked out when somebody asks, once in an
   * interval.
   */
  get expired(): number {
    const interval = Math.floor(this.#clock.now() / INTERVAL_MS)
    if (interval !== this.#interval) {
      this.#interval = interval
      this.#revision = this.#storage.revisionAt((interval - 1) * INTERVAL_MS)
    }
    return Math.max(this.#revision, this.#storage.compactedRevision)
  }
}
