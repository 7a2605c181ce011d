import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"

/**
 * How often upstream compacts etcd up to the revision of one interval before. Source: apiserver
 * pkg/storage/storagebackend DefaultCompactInterval.
 */
const INTERVAL_MS = 5 * 60_000

/**
 * Limits how far back clients may read, regardless of how much history is kept: continued lists and resumed watches
 * expire after five to ten minutes, as upstream. So clients that do not handle this error fail here too, and not only
 * on another cluster.
 */
export class ClientHistory {
  readonly #storage: Storage
  readonly #clock: Clock
  /** The number of the interval since the epoch at which `#revision` was read. */
  #interval = -1
  #revision = 0

  constructor({ storage, clock }: { readonly storage: Storage; readonly clock: Clock }) {
    this.#storage = storage
    this.#clock = clock
  }

  /**
   * The revision before which history has expired for clients. It is computed at most once in an interval, without a
   * timer.
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
