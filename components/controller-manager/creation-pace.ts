import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../pkg/clock/clock.ts"

/** Pods beyond three times the wanted number that may be created in a row at full speed. */
const FREE = 50
/**
 * Pods of one owner that are not ready and up to which further ones are created at full speed: without a quota an owner
 * that wants 2,147,483,647 pods would fill the memory and the disk within minutes.
 */
const MOST_WAITING = 5000
/** As workqueue.DefaultControllerRateLimiter, except for the longest delay, after which a node may have room again. */
const FIRST_MS = 5
const LONGEST_MS = 60_000
/** A row ends when no pod was created for this time, or for twice the last delay. */
const QUIET_MS = 10_000
/** The longest time from the last pod of a row until the row ends. */
const LONGEST_ROW_MS = 2 * LONGEST_MS

interface Row {
  made: number
  /** How many times creation has been delayed in this row. */
  slowed: number
  /** When the last pod was created, and the earliest time for the next one. */
  last: number
  next: number
}

/**
 * Slows down an owner that creates pods over and over: if a kubelet rejects a pod, or a taint evicts it, the next pod
 * ends the same way. Upstream's controllers are limited by their clients (20 requests a second), ours are not: once an
 * owner has created many more pods in a row than it wants, further pods follow at growing intervals. Rollouts and
 * scale-ups are not slowed down, because they create no more pods than wanted, unless thousands of them do not start.
 */
export class CreationPace {
  readonly #rows = new Map<string, Row>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The number of owners that are tracked. */
  get size(): number {
    return this.#rows.size
  }

  /**
   * Returns the milliseconds until `owner`, which wants `wanted` pods and has `waiting` pods that are not ready, may
   * create more; 0 for now.
   */
  wait({ metadata: { uid = "" } }: KubeObject, wanted: number, waiting = 0): number {
    const row = this.#rows.get(uid)
    if (row === undefined) return 0
    const now = this.#clock.monotonic()
    if (isOver(row, now)) {
      this.#rows.delete(uid)
      return 0
    }
    if (row.made <= FREE + 3 * wanted && waiting <= MOST_WAITING) return 0
    if (row.next <= row.last) row.next = row.last + Math.min(LONGEST_MS, FIRST_MS * 2 ** row.slowed++)
    return Math.max(0, row.next - now)
  }

  /** Records that `count` pods were created. */
  made({ metadata: { uid = "" } }: KubeObject, count = 1): void {
    if (count === 0) return
    const now = this.#clock.monotonic()
    const row = this.#rows.get(uid) ?? { made: 0, slowed: 0, last: now, next: now }
    row.made += count
    row.last = row.next = now
    // The owner moves to the end of the map, so that the owners whose row has ended are at its start.
    this.#rows.delete(uid)
    this.#rows.set(uid, row)
    for (const [other, { last }] of this.#rows) {
      if (now - last <= LONGEST_ROW_MS) break
      this.#rows.delete(other)
    }
  }
}

const isOver = ({ last, next }: Row, now: number): boolean => now - last > Math.max(QUIET_MS, 2 * (next - last))
