import type { Timer } from "./clock.ts"

const NOTHING = (): void => {}

/** A timer that was set. `state` says whether it will still run. */
export class Pending implements Timer {
  readonly due: number
  readonly order: number
  /** What it runs; nothing once it is cancelled, because it may stay in its heap for long. */
  run: () => void
  readonly heap: Heap
  state: "set" | "cancelled" | "ended" = "set"

  constructor(due: number, order: number, run: () => void, heap: Heap) {
    this.due = due
    this.order = order
    this.run = run
    this.heap = heap
  }

  cancel(): void {
    this.heap.remove(this)
  }
}

const MOST_CANCELLED = 256

/**
 * A binary heap, ordered by due time and then by `order`. A removed item is only marked, and is skipped when it comes
 * to the top.
 */
export class Heap {
  private readonly items: Pending[] = []
  /** The number of items that are not marked. */
  size = 0

  push(item: Pending): void {
    this.size++
    let at = this.items.push(item) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(this.items[at]!, this.items[parent]!)) break
      this.swap(at, parent)
      at = parent
    }
  }

  peek(): Pending | undefined {
    while (this.items[0]?.state === "cancelled") this.take()
    return this.items[0]
  }

  pop(): void {
    if (this.peek() === undefined) return
    this.take().state = "ended"
    this.size--
  }

  remove(item: Pending): void {
    if (item.state !== "set") return
    item.state = "cancelled"
    item.run = NOTHING
    this.size--
    // Many timers are cancelled long before they are due: their marked items must not accumulate.
    if (this.items.length > 2 * this.size + MOST_CANCELLED) {
      const left = this.items.filter(({ state }) => state === "set").sort((a, b) => (before(a, b) ? -1 : 1))
      this.items.length = 0
      for (const item of left) this.items.push(item)
    }
  }

  private take(): Pending {
    const top = this.items[0]!
    const last = this.items.pop()!
    if (this.items.length === 0) return top
    this.items[0] = last
    for (let at = 0; ;) {
      const left = 2 * at + 1
      const right = left + 1
      let least = at
      if (left < this.items.length && before(this.items[left]!, this.items[least]!)) least = left
      if (right < this.items.length && before(this.items[right]!, this.items[least]!)) least = right
      if (least === at) return top
      this.swap(at, least)
      at = least
    }
  }

  private swap(a: number, b: number): void {
    const item = this.items[a]!
    this.items[a] = this.items[b]!
    this.items[b] = item
  }
}

export const earlier = (a: Pending | undefined, b: Pending | undefined): Pending | undefined =>
  a === undefined || (b !== undefined && before(b, a)) ? b : a

const before = (a: Pending, b: Pending): boolean => a.due < b.due || (a.due === b.due && a.order < b.order)
