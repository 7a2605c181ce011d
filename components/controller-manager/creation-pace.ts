import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../pkg/clock/clock.ts"

/** So many pods more than thrice the wanted number may be made in a row at full speed. */
const FREE = 50
/** As workqueue.DefaultControllerRateLimiter, but for the longest wait, after which a node may well have room again. */
const FIRST_MS = 5
const LONGEST_MS = 60_000
/** A row ends when nothing was made for so long, or for twice the last wait. */
const QUIET_MS = 10_000
/** After which every row is over. */
const LONGEST_ROW_MS = 2 * LONGEST_MS

interface Row {
  made: number
  /** How often it has been slowed down. */
  slowed: number
  /** When the last pod was made, and from when on the next may be. */
  last: number
  next: number
}

/**
 * Slows down who makes pods over and over: where a kubelet rejects a pod, or a taint evicts it, so it will the next.
 * Upstream's controllers are held back by the rate of their clients (20 requests a second), which ours have not: a row
 * of pods that is much longer than the wanted number goes on at growing distances. Of a rollout or a scale-up nothing
 * is slowed down, since no more is made than is wanted.
 */
export class CreationPace {
  readonly #rows = new Map<string, Row>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many owners are remembered. */
  get size(): number {
    return this.#rows.size
  }

  /** Milliseconds until `owner`, which wants so many pods, may make more; 0 for now. */
  wait({ metadata: { uid = "" } }: KubeObject, wanted: number): number {
    const row = this.#rows.get(uid)
    if (row === undefined) return 0
    const now = this.#clock.monotonic()
    if (isOver(row, now)) {
      this.#rows.delete(uid)
      return 0
    }
    if (row.made <= FREE + 3 * wanted) return 0
    if (row.next <= row.last) row.next = row.last + Math.min(LONGEST_MS, FIRST_MS * 2 ** row.slowed++)
    return Math.max(0, row.next - now)
  }

  /** Notes that `count` pods were made. */
  made({ metadata: { uid = "" } }: KubeObject, count = 1): void {
    if (count === 0) return
    const now = this.#clock.monotonic()
    const row = this.#rows.get(uid) ?? { made: 0, slowed: 0, last: now, next: now }
    row.made += count
    row.last = row.next = now
    // The one that made pods last is the last in the map, so that those whose row is over are its first.
    this.#rows.delete(uid)
    this.#rows.set(uid, row)
    for (const [other, { last }] of this.#rows) {
      if (now - last <= LONGEST_ROW_MS) break
      this.#rows.delete(other)
    }
  }
}

const isOver = ({ last, next }: Row, now: number): boolean => now - last > Math.max(QUIET_MS, 2 * (next - last))
