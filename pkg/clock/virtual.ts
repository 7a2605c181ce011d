import type { Clock, RestOptions, Resting, Timer, TimerKind } from "./clock.ts"
import { inMacrotask, nextMacrotask } from "./macrotask.ts"
import { RestingTimers } from "./resting-timers.ts"
import { earlier, Heap, Pending } from "./timer-heap.ts"

/** Number of turns that are traced, to find their origin, after an instant has had too many turns. */
const WATCHED_TURNS = 500
/** Number of origins that the error names. */
const NAMED = 3

/** Thrown when an instant of virtual time does not end: its work causes more work at the same instant, and so on. */
export class EndlessInstantError extends Error {
  override readonly name = "EndlessInstantError"
  /** The origins of the work, the most frequent first. Each is some lines of the stack, innermost first. */
  readonly origins: readonly string[]

  constructor(turns: number, origins: readonly string[]) {
    super(
      `Time stands still: one instant has had ${turns} turns and does not end. Its work was started by\n` +
        `${origins.map((origin) => `    ${origin}`).join("\n") || "    code outside the traced stack frames"}`,
    )
    this.origins = origins
  }
}

export interface VirtualClockOptions {
  /** Returns the largest number of turns that one instant may have. Called when an instant has had many. */
  readonly mostTurns?: () => number
  /** Called before time moves to another instant. A returned promise is awaited. */
  readonly turn?: () => Promise<void> | undefined
}

/** Factor: one turn may have this many requests for each turn that an instant may have. */
const ASKS_OF_TURN = 10

/**
 * Stack frames that do not show the origin: those of the clock, and of the store's commits, which all writers share.
 */
const IDLE_FRAMES = /pkg\/clock\/(?!virtual\.test)|pkg\/storage\//

/** Number of callbacks of `atRest` that run together. */
const MOST_AT_REST = 200
/** When more of them than this wait, the oldest do not wait for the rest of the instant. */
const MOST_WAITING = 2000

/** Number of upkeep timers that run in one turn. */
const MOST_TOGETHER = 100

/** An instant with fewer turns than this is never treated as endless. */
const FEW_TURNS = 1000

/**
 * A clock that stands still until it is advanced. Timers run in the order of their due time; timers due at the same
 * time run in the order in which they were set. So the same program always runs in the same order. Between two instants
 * all promises run to their end.
 */
export class VirtualClock implements Clock {
  /** Milliseconds since the epoch, without the jumps of the wall clock. */
  private time: number
  /** How far `jump` has set the wall clock forward, in milliseconds; negative when back. */
  private wrong = 0
  private order = 0
  /** All timers of kind `work` that are due at the present instant have run whose `order` is less than this. */
  private passed = 0
  private readonly work = new Heap()
  private readonly upkeep = new Heap()
  private readonly watchdogs = new Heap()
  private readonly resting = new RestingTimers((order) => ({ time: this.time, hasPassed: order < this.passed }))
  private restless = 0
  /**
   * Whether upkeep timers run at their own instants, like all others. Set by tests that stop what upkeep keeps alive.
   */
  exact = false
  private turns: (() => void)[] = []
  private flushing = false
  /** Number of flushes of `turns` so far. */
  private flushes = 0
  private readonly rests: (() => void)[] = []
  private awaitsRest = false
  /** Work for which time stands still. */
  private readonly loads = new Set<Promise<unknown>>()
  /** Number of turns of the present instant since `settle` or `advanceTo` last waited for its end. */
  private count = 0
  private settling = 0
  /** Number of requests in the present turn. */
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

  setTimeout = (run: () => void, ms: number, kind: TimerKind = "work", place?: Timer): Timer => {
    const heap = kind === "work" ? this.work : kind === "upkeep" ? this.upkeep : this.watchdogs
    if (this.origins !== undefined) this.note()
    // In whole milliseconds, as the system's clock counts. Rounded up, because a timer that ran early would find that
    // it is not due, and be set again for ever.
    const order = place instanceof Pending ? place.order : this.order++
    const pending = new Pending(this.time + Math.ceil(Math.max(0, ms)), order, run, heap)
    heap.push(pending)
    return pending
  }

  rest = (timer: Timer, options: RestOptions): Resting | undefined =>
    this.restless > 0 || !(timer instanceof Pending) ? undefined : this.resting.add(timer, options)

  /** Ends all rests, and allows none until the function that it returns is called. */
  keepAwake(): () => void {
    this.restless++
    this.resting.wakeAll()
    let isOver = false
    return () => {
      if (!isOver) this.restless--
      isOver = true
    }
  }

  /** All callbacks of one turn run together, after the microtasks that are queued by then. */
  afterTurn = (run: () => void): void => {
    this.turns.push(run)
    if (this.origins !== undefined) this.note()
    if (this.flushing) return
    this.flushing = true
    inMacrotask(() => {
      this.flushing = false
      this.flushes++
      const turns = this.turns
      this.turns = []
      for (const turn of turns) turn()
    })
  }

  atRest = (run: () => void): void => {
    this.rests.push(run)
    if (this.rests.length > MOST_WAITING)
      for (const oldest of this.rests.splice(0, MOST_AT_REST)) this.afterTurn(oldest)
    if (this.origins !== undefined) this.note()
    if (!this.awaitsRest) this.awaitRest()
  }

  /**
   * Runs callbacks of `atRest` after a turn in which nothing else ran. With thousands, only some: all together would
   * keep what they do in memory at the same time.
   */
  private awaitRest(): void {
    this.awaitsRest = true
    const { flushes } = this
    inMacrotask(() => {
      if (!this.flushing && this.flushes === flushes) for (const run of this.rests.splice(0, MOST_AT_REST)) run()
      this.awaitsRest = false
      if (this.rests.length > 0) this.awaitRest()
    })
  }

  stillDuring = <T>(work: Promise<T>): Promise<T> => {
    this.loads.add(work)
    const over = () => void this.loads.delete(work)
    work.then(over, over)
    return work
  }

  /** The number of set timers. */
  get pending(): number {
    return this.work.size + this.upkeep.size + this.watchdogs.size + this.resting.size
  }

  /**
   * When the next timer is due to which time can be advanced, in milliseconds since the epoch. Upkeep and watchdog
   * timers count only if `exact` is set.
   */
  get nextDue(): number | undefined {
    const due = (this.exact ? this.next() : this.work.peek())?.due
    return due === undefined ? undefined : due + this.wrong
  }

  /** Sets the wall clock forward or back, as a correction does: `now` jumps, while delays and `monotonic` continue. */
  jump(ms: number): void {
    this.wrong += Math.round(ms)
    // What is known of later runs was known by this clock.
    this.resting.wakeAll()
  }

  /**
   * Runs everything that is due now, and the work that follows from it. Time does not move.
   * @throws EndlessInstantError when that work does not end
   */
  async settle(): Promise<void> {
    if (this.settling++ === 0) this.startCount()
    try {
      const wait = this.myTurn()
      if (wait !== undefined) await wait
      for (;;) {
        await this.quiet()
        const next = this.next()
        if (next === undefined || next.due > this.time) {
          this.passed = this.order
          return
        }
        next.heap.pop()
        this.turn()
        if (next.heap === this.work) this.passed = Math.max(this.passed, next.order + 1)
        next.run()
        if (next.heap === this.upkeep) this.runUpkeep()
      }
    } finally {
      this.settling--
    }
  }

  /**
   * Advances time to `target`, and stops at each timer of kind `work` on the way. At each stop upkeep that is due runs
   * first.
   */
  async advanceTo(target: number): Promise<void> {
    await this.settle()
    // Computed first, because a timer that runs on the way may let the wall clock jump.
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
    // After a skip all skipped timers are late, so their kind and not their due time decides which runs first. With
    // `exact` the same holds for those that are due together: the turn that they share must not depend on whether a
    // timer between them rests.
    if (this.isLate(upkeep)) return upkeep
    if (this.isLate(watchdog)) return watchdog
    return earlier(earlier(work, upkeep), watchdog)
  }

  /**
   * Runs the upkeep timers that are next, without a turn between: the heartbeats of many nodes do not depend on each
   * other, and so share a commit.
   */
  private runUpkeep(): void {
    for (let count = 1; count < MOST_TOGETHER; count++) {
      const next = this.next()
      if (next?.heap !== this.upkeep || !this.isLate(next)) return
      next.heap.pop()
      next.run()
    }
  }

  private isLate(timer: Pending | undefined): boolean {
    return timer !== undefined && timer.due <= this.time
  }

  /**
   * Counts a request in the present turn. Promises that cause each other never end a turn, so only this count detects
   * that they go on for ever.
   * @throws EndlessInstantError when there are too many; the call that advances time throws it too
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

  /**
   * Waits until no promise and no callback of `afterTurn` or `atRest` is left to run, and no work of `stillDuring` is
   * under way. Timers that are due are not run.
   */
  async quiet(): Promise<void> {
    do {
      this.turn()
      await nextMacrotask()
    } while (this.flushing || this.turns.length > 0 || this.rests.length > 0 || (await this.waitedForLoads()))
    this.tellStuck()
  }

  /** Waits for work of `stillDuring`. Returns whether there was any, since its end may cause more work. */
  private async waitedForLoads(): Promise<boolean> {
    if (this.loads.size === 0) return false
    await Promise.allSettled(this.loads)
    return true
  }

  /** Throws the error of an endless instant once, to the caller that advances time. */
  private tellStuck(): void {
    const { stuck } = this
    this.stuck = undefined
    if (stuck !== undefined) throw stuck
  }

  private moveTo(target: number): void {
    if (target <= this.time) return
    this.time = target
    this.passed = 0
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

  /** Records the stack that started the present piece of work. */
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
