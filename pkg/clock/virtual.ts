import type { Clock, Timer, TimerKind } from "./clock.ts"

/** Work that ended its turn without leaving a timer: how the clock knows that nothing is left to do at this instant. */
const nextMacrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** How many turns of one instant are looked at, once it has had too many, to see who sets them off. */
const WATCHED_TURNS = 500
/** As many of those who set them off are named. */
const NAMED = 3

/** An instant of virtual time that does not end: what runs in it sets off something that runs in it too, and so on. */
export class EndlessInstantError extends Error {
  override readonly name = "EndlessInstantError"
  /** Who set off what ran, the busiest first: lines of the stack, nearest first. */
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
  /** How many turns one instant may have; asked when there were many. */
  readonly mostTurns?: () => number
  /** Asked before each instant that time is moved to; where it gives a promise, that is waited for. */
  readonly turn?: () => Promise<void> | undefined
}

/** How much may be asked for in one turn, for each turn that an instant may have. */
const ASKS_OF_TURN = 10

/** Frames that say nothing of who it was: the clock's, and those of the store's commits, which all writers share. */
const IDLE_FRAMES = /pkg\/clock\/(?!virtual\.test)|pkg\/storage\//

/** So few turns are never too many. */
const FEW_TURNS = 1000

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
 * A clock that stands still until it is moved. Timers run in the order of their due time, and of their setting where
 * that is equal, so the same program does the same in the same order each time. Between two instants all promises are
 * let run to their end.
 */
export class VirtualClock implements Clock {
  /** Milliseconds since the epoch, but for what the wall clock was set forward or back. */
  private time: number
  /** By how much the wall clock was set forward. */
  private wrong = 0
  private order = 0
  private readonly work = new Heap()
  private readonly upkeep = new Heap()
  private readonly watchdogs = new Heap()
  /** Whether upkeep is run at its own instants, as everything else; a test that disturbs what is kept up wants that. */
  exact = false
  private turns: (() => void)[] = []
  private flushing = false
  /** Turns of the present instant since somebody asked for its end. */
  private count = 0
  private settling = 0
  /** How often something was asked for in the present turn. */
  private asks = 0
  private stuck: EndlessInstantError | undefined
  private readonly mostTurns: () => number
  private readonly myTurn: () => Promise<void> | undefined
  /** Who set off what runs, and how often, while an instant that seems not to end is looked at. */
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
    // Whole milliseconds, as the system's clock counts; rounded up, since one that ran before its time would find it
    // not come yet, and be set again, for ever.
    const pending = new Pending(this.time + Math.ceil(Math.max(0, ms)), this.order++, run, heap)
    heap.push(pending)
    return pending
  }

  /** All that ends in the same turn runs together, after the microtasks that are queued by then. */
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

  /** How many timers are set. */
  get pending(): number {
    return this.work.size + this.upkeep.size + this.watchdogs.size
  }

  /** When the next timer is due that is not mere upkeep, in milliseconds since the epoch. */
  get nextDue(): number | undefined {
    const due = (this.exact ? this.next() : this.work.peek())?.due
    return due === undefined ? undefined : due + this.wrong
  }

  /**
   * Sets the wall clock forward or back, as who corrects it does: `now` jumps, while delays and `monotonic` go on as
   * they were.
   */
  jump(ms: number): void {
    this.wrong += Math.round(ms)
  }

  /**
   * Lets everything that is due now, and all that follows from it, run to its end; time does not move.
   * @throws EndlessInstantError when that has no end
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
   * Moves time to `target`, stopping at each timer on the way. Upkeep that was due meanwhile runs at each stop, before
   * anything else does.
   */
  async advanceTo(target: number): Promise<void> {
    await this.settle()
    // Counted from here, since the wall clock may jump on the way.
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

  /**
   * Notes that something was asked for in the present turn. Promises that set each other off end no turn, so that
   * nothing else could find them.
   * @throws EndlessInstantError when there was too much; whoever moves time is told as well
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

  /** Waits until no promise and no end of turn is left to run; timers that are due stay. */
  async quiet(): Promise<void> {
    do {
      this.turn()
      await nextMacrotask()
    } while (this.flushing || this.turns.length > 0)
    this.tellStuck()
  }

  /** Told once, to whoever moves time. */
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

  /** Counts a turn of the present instant. @throws EndlessInstantError when there were too many */
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

  /** Remembers who sets something off. */
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
