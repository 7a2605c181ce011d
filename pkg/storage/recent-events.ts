import type { StorageEvent } from "./storage.ts"

/** The newest events of the log in memory, oldest first, without gaps. */
export class RecentEvents {
  readonly #events: StorageEvent[] = []

  get all(): readonly StorageEvent[] {
    return this.#events
  }

  push(event: StorageEvent): void {
    this.#events.push(event)
  }

  /**
   * Keeps the newest `count` events and returns those that were dropped. The list stays the same array: a collection of
   * young garbage takes all that was pushed to an old array for alive, even if nothing refers to the array any more.
   */
  keepNewest(count: number): readonly StorageEvent[] {
    const first = this.#events.length - count
    return first <= 0 ? [] : this.#events.splice(0, first)
  }

  /** Drops the events up to `revision` and returns them. */
  dropUpTo(revision: number): readonly StorageEvent[] {
    return this.keepNewest(this.after(revision).length)
  }

  /** The revision after which all events are in memory; undefined when none are. */
  get completeAfter(): number | undefined {
    const [oldest] = this.#events
    return oldest === undefined ? undefined : oldest.revision - 1
  }

  /** Returns the events after `revision`, which is `completeAfter` or newer. */
  after(revision: number): readonly StorageEvent[] {
    return this.#events.slice(1 + lastIndex(this.#events.length, (i) => this.#events[i]!.revision <= revision))
  }

  /** Returns the revision of the newest event that was written by `time`; undefined when every event here is newer. */
  revisionAt(time: number): number | undefined {
    const last = lastIndex(this.#events.length, (i) => this.#events[i]!.time <= time)
    return last === -1 ? undefined : this.#events[last]!.revision
  }
}

/**
 * Returns the index of the last item for which `holds` is true; -1 when there is none. `holds` must be true only for
 * items at the start.
 */
export function lastIndex(length: number, holds: (i: number) => boolean): number {
  let [low, high] = [-1, length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (holds(middle)) low = middle
    else high = middle - 1
  }
  return low
}
