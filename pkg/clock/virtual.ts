import type { Clock, Timer, TimerKind } from "./clock.ts"

/** Work that ended its turn without leaving a timer: how the clock knows that nothing is left to do at this instant. */
const nextMacrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A set timer; `state` tells its heap whether it still counts. */
class Pending implements Timer {
  readonly due: number
  readonly order: number
  readonly run: () => void
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

/**
 * A clock that stands still until it is moved. Timers run in the order of their due time, and of their setting where that is equal, so
 * the same program does the same in the same order each time. Between two instants all promises are let run to their end.
 */
export class VirtualClock implements Clock {
  private time: number
  private order = 0
  private readonly work = new Heap()
  private readonly upkeep = new Heap()
  private readonly watchdogs = new Heap()
  /** Whether upkeep is run at its own instants, as everything else; a test that disturbs what is kept up wants that. */
  exact = false
  private turns: (() => void)[] = []
  private flushing = false

  constructor(start: number) {
    this.time = start
  }

  now = (): number => this.time
  monotonic = (): number => this.time

  setTimeout = (run: () => void, ms: number, kind: TimerKind = "work"): Timer => {
    const heap = kind === "work" ? this.work : kind === "upkeep" ? this.upkeep : this.watchdogs
    // Whole milliseconds, as the system's clock counts.
    const pending = new Pending(this.time + Math.round(Math.max(0, ms)), this.order++, run, heap)
    heap.push(pending)
    return pending
  }

  /** All that ends in the same turn runs together, after the microtasks that are queued by then. */
  afterTurn = (run: () => void): void => {
    this.turns.push(run)
    if (this.flushing) return
    this.flushing = true
    setImmediate(() => {
      this.flushing = false
      const turns = this.turns
      this.turns = []
      for (const turn of turns) turn()
    })
  }

  /** How many timers are set. */
  get pending(): number {
    return this.work.size + this.upkeep.size + this.watchdogs.size
  }

  /** When the next timer is due that is not mere upkeep, in milliseconds since the epoch. */
  get nextDue(): number | undefined {
    return (this.exact ? this.next() : this.work.peek())?.due
  }

  /** Lets everything that is due now, and all that follows from it, run to its end; time does not move. */
  async settle(): Promise<void> {
    for (;;) {
      await this.quiet()
      const next = this.next()
      if (next === undefined || next.due > this.time) return
      next.heap.pop()
      next.run()
    }
  }

  /** Moves time to `target`, stopping at each timer on the way. Upkeep that was due meanwhile runs at each stop, before anything else does. */
  async advanceTo(target: number): Promise<void> {
    await this.settle()
    for (let due = this.nextDue; due !== undefined && due <= target; due = this.nextDue) {
      this.time = Math.max(this.time, due)
      await this.settle()
    }
    this.time = Math.max(this.time, Math.round(target))
    await this.settle()
  }

  advance(ms: number): Promise<void> {
    return this.advanceTo(this.time + ms)
  }

  private next(): Pending | undefined {
    const work = this.work.peek()
    const upkeep = this.upkeep.peek()
    const watchdog = this.watchdogs.peek()
    // After a skip all that was skipped is late, and only its sense says what must come first.
    if (!this.exact) {
      if (this.isLate(upkeep)) return upkeep
      if (this.isLate(watchdog)) return watchdog
    }
    return earlier(earlier(work, upkeep), watchdog)
  }

  private isLate(timer: Pending | undefined): boolean {
    return timer !== undefined && timer.due <= this.time
  }

  /** Waits until no promise and no end of turn is left to run; timers that are due stay. */
  async quiet(): Promise<void> {
    do await nextMacrotask()
    while (this.flushing || this.turns.length > 0)
  }
}

const MOST_CANCELLED = 256

/** A binary heap by due time, then order. Removal marks; what is marked is skipped when it comes up. */
class Heap {
  private readonly items: Pending[] = []
  /** How many items count. */
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
    this.size--
    // Many are set and cancelled long before they are due: those that only wait to be skipped must not pile up.
    if (this.items.length > 2 * this.size + MOST_CANCELLED) {
      const left = this.items.filter(({ state }) => state === "set").sort((a, b) => (before(a, b) ? -1 : 1))
      this.items.splice(0, this.items.length, ...left)
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

const earlier = (a: Pending | undefined, b: Pending | undefined): Pending | undefined =>
  a === undefined || (b !== undefined && before(b, a)) ? b : a

const before = (a: Pending, b: Pending): boolean => a.due < b.due || (a.due === b.due && a.order < b.order)
