import type { Key } from "../../pkg/client/informer.ts"

/** A deleted node may be registered again within this time. Source: quarantineTime in pkg/controller/podgc. */
const QUARANTINE_MS = 40_000

/** Since when the nodes of objects are missing: what only their node could do waits until it will not come back. */
export class MissingNodes {
  /** By the keys of objects, in milliseconds of the monotonic clock. */
  readonly #since = new Map<Key, number>()

  /** Called for an object without a node. Returns how many milliseconds to wait still; undefined after the wait. */
  wait(key: Key, now: number): number | undefined {
    const since = this.#since.get(key) ?? now
    this.#since.set(key, since)
    const left = since + QUARANTINE_MS - now
    return left > 0 ? left : undefined
  }

  /** Called when an object has a node again, or is gone. */
  forget(key: Key): void {
    this.#since.delete(key)
  }
}
