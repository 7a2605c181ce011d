import type { Clock, Timer, TimerKind } from "./clock.ts"

/**
 * Resolves when all promises that can run now have run. The clock waits for that before it decides that nothing is left
 * to do at this instant.
 */
const nextMacrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Number of turns that are traced once an instant has had too many, to find their origin. */
const WATCHED_TURNS = 500
/** Number of origins in the error. */
const NAMED = 3

/** An instant of virtual time that does not end: its work causes more work at the same instant, and so on. */
export class EndlessInstantError extends Error {
  override readonly name = "EndlessInstantError"
  /** The origins of the work, the busiest first: lines of the stack, nearest first. */
  readonly origins: readonly string[]

  constructor(turns: number, origins: readonly string[]) {
    super(
      `Time stands still: one instant has had ${turns} turns and does not end. What runs in it is set off by\n` +
        `${origins.map((origin) => `    ${origin}`).join("\n") || "    nobody that could be seen"}`,
    )
    this.origins = origins
  }
}

export interface VirtualClockOptions {
  /** Returns the most turns of one instant; called when there were many. */
  readonly mostTurns?: () => number
  /** Called before time moves to another instant; a returned promise is awaited. */
  readonly turn?: () => Promise<void> | undefined
}

/** Most requests in one turn, for each turn that an instant may have. */
const ASKS_OF_TURN = 10

/** Frames that do not show the origin: those of the clock, and of the store's commits, which all writers share. */
const IDLE_FRAMES = /pkg\/clock\/(?!virtual\.test)|pkg\/storage\//

/** Fewer turns are never too many. */
const FEW_TURNS = 1000

/** A set timer; `state` says whether it still counts. */
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
 * A clock that stands still until it is advanced. Timers run in the order of their due time and then of their setting,
 * so that the same program always runs in the same order. Between two instants all promises run to their end.
 */
export class VirtualClock implements Clock {
  /** Milliseconds since the epoch, without jumps of the wall clock. */
  private time: number
  /** By how many milliseconds the wall clock was set forward. */
  private wrong = 0
  private order = 0
  private readonly work = new Heap()
  private readonly upkeep = new Heap()
  private readonly watchdogs = new Heap()
  /** Whether upkeep timers run at their own instants, like all others. For tests that disturb what the upkeep keeps. */
  exact = false
  private turns: (() => void)[] = []
  private flushing = false
  /** Turns of the present instant since its end was last awaited. */
  private count = 0
  private settling = 0
  /** Requests in the present turn. */
  private asks = 0
  private stuck: EndlessInstantError | undefined
  private readonly mostTurns: () => number
  private readonly myTurn: () => Promise<void> | undefined
  /** The origins of work and their counts, while an instant that seems endless is traced. */
  private origins: Map<string, number> | undefined

  constructor(start: number, { mostTurns = () => Infinity, turn = () => undefined }: VirtualClockOptions = {}) {
    this.time = start
    this.mostTurns = mostTurns
    this.myTurn = turn
  }

  now = (): number => this.time + this.wrong
  monotonic = (): number => this.time

  setTimeout = (run: () => void, ms: number, kind: TimerKind = "work"): Timer => {
    const heap = kind === "work" ? this.work : kind === "upkeep" ? this.upkeep : this.watchdogs
    if (this.origins !== undefined) this.note()
    // Whole milliseconds, as of the system's clock; rounded up, because a timer that ran early would find that it is
    // not due, and be set again for ever.
    const pending = new Pending(this.time + Math.ceil(Math.max(0, ms)), this.order++, run, heap)
    heap.push(pending)
    return pending
  }

  /** All callbacks of one turn run together, after the microtasks that are queued by then. */
  afterTurn = (run: () => void): void => {
    this.turns.push(run)
    if (this.origins !== undefined) this.note()
    if (this.flushing) return
    this.flushing = true
    setImmediate(() => {
      this.flushing = false
      const turns = this.turns
      this.turns = []
      for (const turn of turns) turn()
    })
  }

  /** The number of set timers. */
  get pending(): number {
    return this.work.size + this.upkeep.size + this.watchdogs.size
  }

  /**
   * When the next timer to which time is advanced is due, in milliseconds since the epoch. Upkeep and watchdogs count
   * only if `exact` is set.
   */
  get nextDue(): number | undefined {
    const due = (this.exact ? this.next() : this.work.peek())?.due
    return due === undefined ? undefined : due + this.wrong
  }

  /** Sets the wall clock forward or back, as a correction does: `now` jumps, while delays and `monotonic` continue. */
  jump(ms: number): void {
    this.wrong += Math.round(ms)
  }

  /**
   * Runs everything that is due now, and what follows from it; time does not move. @throws EndlessInstantError when it
   * does not end
   */
  async settle(): Promise<void> {
    if (this.settling++ === 0) this.startCount()
    try {
      const wait = this.myTurn()
      if (wait !== undefined) await wait
      for (;;) {
        await this.quiet()
        const next = this.next()
        if (next === undefined || next.due > this.time) return
        next.heap.pop()
        this.turn()
        next.run()
      }
    } finally {
      this.settling--
    }
  }

  /**
   * Advances time to `target`, stopping at each due timer of work. Upkeep that is due by then runs first at each stop.
   */
  async advanceTo(target: number): Promise<void> {
    await this.settle()
    // Computed before the wall clock may jump.
    const end = Math.round(target) - this.wrong
    for (let due = this.nextDue; due !== undefined && due - this.wrong <= end; due = this.nextDue) {
      this.moveTo(due - this.wrong)
      await this.settle()
    }
    this.moveTo(end)
    await this.settle()
  }

  advance(ms: number): Promise<void> {
    return this.advanceTo(this.now() + ms)
  }

  private next(): Pending | undefined {
    const work = this.work.peek()
    const upkeep = this.upkeep.peek()
    const watchdog = this.watchdogs.peek()
    // After a skip all skipped timers are late, so their kind decides which comes first.
    if (!this.exact) {
      if (this.isLate(upkeep)) return upkeep
      if (this.isLate(watchdog)) return watchdog
    }
    return earlier(earlier(work, upkeep), watchdog)
  }

  private isLate(timer: Pending | undefined): boolean {
    return timer !== undefined && timer.due <= this.time
  }

  /**
   * Counts a request in the present turn. Promises that cause each other end no turn, so nothing else could detect
   * them. @throws EndlessInstantError when there are too many; the call that advances time throws it too
   */
  asked(): void {
    if (++this.asks <= ASKS_OF_TURN * this.mostTurns()) return
    const frames = (new Error().stack ?? "").split("\n").filter((line) => /^\s*at /.test(line))
    this.stuck ??= new EndlessInstantError(
      this.count,
      frames.slice(1, 6).map((line) => line.trim().replace(/^at /, "")),
    )
    throw this.stuck
  }

  /** Waits until no promise and no end of a turn is left to run; due timers stay. */
  async quiet(): Promise<void> {
    do {
      this.turn()
      await nextMacrotask()
    } while (this.flushing || this.turns.length > 0)
    this.tellStuck()
  }

  /** Reports the endless instant once, to the caller that advances time. */
  private tellStuck(): void {
    const { stuck } = this
    this.stuck = undefined
    if (stuck !== undefined) throw stuck
  }

  private moveTo(target: number): void {
    if (target <= this.time) return
    this.time = target
    this.startCount()
  }

  private startCount(): void {
    this.count = 0
    this.origins = undefined
  }

  /** Counts a turn of the present instant. @throws EndlessInstantError when there are too many */
  private turn(): void {
    this.asks = 0
    this.tellStuck()
    if (++this.count < FEW_TURNS) return
    if (this.origins === undefined) {
      if (this.count % FEW_TURNS === 0 && this.count > this.mostTurns()) this.origins = new Map()
      return
    }
    if (this.count % WATCHED_TURNS !== 0) return
    const origins = [...this.origins].sort(([, a], [, b]) => b - a).slice(0, NAMED)
    throw new EndlessInstantError(
      this.count,
      origins.map(([origin, times]) => `${origin} (${times} times in ${WATCHED_TURNS} turns)`),
    )
  }

  /** Records the origin of a piece of work. */
  private note(): void {
    const frames = (new Error().stack ?? "")
      .split("\n")
      .filter((line) => /^\s*at /.test(line) && !IDLE_FRAMES.test(line))
      .slice(0, 3)
      .map((line) => line.trim().replace(/^at /, ""))
    const origin = frames.join(" < ")
    if (origin === "") return
    this.origins!.set(origin, (this.origins!.get(origin) ?? 0) + 1)
  }
}

const MOST_CANCELLED = 256

/** A binary heap by due time, then order. Removal marks an item, which is skipped when it comes up. */
class Heap {
  private readonly items: Pending[] = []
  /** The number of unmarked items. */
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
    // Many timers are cancelled long before they are due: marked items must not pile up.
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
