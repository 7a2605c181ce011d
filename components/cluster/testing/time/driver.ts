import { formatDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { realClock } from "../../../../pkg/clock/real.ts"
import { EndlessInstantError, type VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { TestClusterError } from "../caller.ts"
import type { Skipped } from "../options/options.ts"
import { smallest } from "../../../../pkg/lists/extremes.ts"

export interface DriverOptions {
  readonly clock: Clock
  /** Undefined on the system's clock, which moves by itself. */
  readonly virtual: VirtualClock | undefined
  /** Returns a line for each thing that may delay work: present faults, delayed requests. */
  readonly hindrances: () => readonly string[]
  /** Whether requests of every client may take virtual time: a fault is present, or there is a network. */
  readonly delays: () => boolean
  /** What is left out while nothing happens. */
  readonly skips: ReadonlySet<Skipped>
  /** Returns the error for an instant that does not end. */
  readonly endless: (err: EndlessInstantError) => Error
  /** Says how to replay the run. */
  readonly replay: string
  /** Called after time was moved. */
  readonly moved: () => void
}

/** The longest that work may take, in virtual time, or in real time on the system's clock. */
const PATIENCE_MS = 5 * 60_000
const REAL_PATIENCE_MS = 60_000
/**
 * How long real time passes before virtual time is moved, since work may wait for something outside that the clock does
 * not know.
 */
const OUTER_WORLD_MS = 10
/** The same for code of the test that may do anything: run a program, ask a server. */
const OWN_CODE_MS = 2000

interface Waiting {
  readonly what: () => string
  /** In milliseconds of monotonic time. */
  readonly deadline: number
  ended: boolean
  /** How much real time passes before virtual time moves for it, in milliseconds; 0 once it has passed. */
  outerWorldMs: number
  giveUp(err: Error): void
}

/**
 * Advances virtual time for work that the test awaits, which may itself wait for time: for a back-off, an image's
 * sleep, a rule that delays. So time goes from one due timer to the next while something is awaited, unless the test
 * moves time itself.
 */
export class Driver {
  readonly #options: DriverOptions
  readonly #waiting = new Set<Waiting>()
  /** Whether programs that run beside the test run their own code now: see `runsBeside`. */
  readonly #beside = new Set<() => boolean>()
  #pumping = false
  #exact = 0
  #unreported: Error | undefined
  #moving = 0
  /** Resolves when the test is not moving time itself. */
  #still = Promise.withResolvers<void>()

  constructor(options: DriverOptions) {
    this.#options = options
    const { virtual, skips } = options
    if (virtual === undefined) return
    virtual.exact = !skips.has("heartbeats")
    if (!skips.has("probes")) virtual.keepAwake()
  }

  /** Whether a fault is present, or a Node is missing. */
  get isTroubled(): boolean {
    return this.#exact > 0
  }

  /** Whether the clock is virtual, so that this driver moves it. */
  get isVirtual(): boolean {
    return this.#options.virtual !== undefined
  }

  /**
   * Lets heartbeats and their timeouts run at their exact times, since a fault is present that they detect, and leaves
   * no probe out, unless those that are known to succeed do so in spite of the fault. Returns a function that ends
   * this.
   */
  beExact({ skipsProbes = false } = {}): () => void {
    const { virtual } = this.#options
    if (virtual === undefined) return () => {}
    this.#exact++
    virtual.exact = true
    const restAgain = skipsProbes ? () => {} : virtual.keepAwake()
    let over = false
    return () => {
      if (over) return
      over = true
      restAgain()
      if (--this.#exact === 0) virtual.exact = !this.#options.skips.has("heartbeats")
    }
  }

  /**
   * Returns the result of `work`, and advances time meanwhile.
   * @param what says what is awaited: `apply waits for …`
   * @param isOwnCode whether `work` is code of the test, which may take its time without waiting for the cluster
   * @throws TestClusterError when it has not ended within five minutes of virtual time, or no timer is due that could
   * end it
   */
  async ended<T>(what: () => string, work: Promise<T>, isOwnCode = false): Promise<T> {
    const { virtual, clock, delays } = this.#options
    const { promise: gaveUp, reject } = Promise.withResolvers<never>()
    const waiting: Waiting = {
      what,
      ended: false,
      outerWorldMs: isOwnCode && !delays() ? OWN_CODE_MS : OUTER_WORLD_MS,
      deadline: clock.monotonic() + (virtual === undefined ? REAL_PATIENCE_MS : PATIENCE_MS),
      giveUp(err) {
        waiting.ended = true
        reject(err)
      },
    }
    let timer: Timer | undefined
    if (virtual === undefined)
      timer = clock.setTimeout(() => waiting.giveUp(this.#notEnded(waiting, REAL_PATIENCE_MS)), REAL_PATIENCE_MS)
    else {
      this.#waiting.add(waiting)
      if (!this.#pumping) void this.#pump(virtual)
    }
    try {
      return await Promise.race([work, gaveUp])
    } finally {
      waiting.ended = true
      this.#waiting.delete(waiting)
      timer?.cancel()
    }
  }

  /**
   * Moves time for the test; meanwhile no other work moves it. @throws the error of `endless` for an instant that does
   * not end
   */
  async move<T>(work: (clock: VirtualClock) => Promise<T>): Promise<T | undefined> {
    const { virtual, endless } = this.#options
    if (virtual === undefined) return undefined
    if (this.#moving++ === 0) this.#still = Promise.withResolvers<void>()
    try {
      await this.#othersAtRest(virtual)
      const done = await work(virtual)
      await this.#othersAtRest(virtual)
      const untold = this.#unreported
      this.#unreported = undefined
      if (untold !== undefined) throw untold
      return done
    } catch (err) {
      throw err instanceof EndlessInstantError ? endless(err) : err
    } finally {
      this.#options.moved()
      if (--this.#moving === 0) this.#still.resolve()
    }
  }

  /**
   * Has time that the test moves wait for a program that runs beside it, as long as that runs its own code: loads it,
   * or prints. Returns a function that ends this.
   */
  runsBeside(isRunning: () => boolean): () => void {
    this.#beside.add(isRunning)
    return () => void this.#beside.delete(isRunning)
  }

  /** Waits until programs beside the test wait for something too, and no answer comes to them at this instant. */
  async #othersAtRest(clock: VirtualClock): Promise<void> {
    const atRest = () => [...this.#beside].every((isRunning) => !isRunning())
    const until = realClock.monotonic() + OWN_CODE_MS
    while (this.#beside.size > 0 && realClock.monotonic() < until) {
      await this.#outerWorld(OWN_CODE_MS, atRest)
      await clock.settle()
      if (atRest()) return
    }
  }

  /** Never rejects. */
  async #pump(clock: VirtualClock): Promise<void> {
    this.#pumping = true
    try {
      // First a turn passes: most calls have ended by then, and a test that moves time itself has begun to.
      for (await clock.quiet(); this.#waiting.size > 0; await clock.quiet())
        await (this.#moving > 0 ? this.#still.promise : this.#step(clock).finally(this.#options.moved))
    } catch (err) {
      const failure = err instanceof EndlessInstantError ? this.#options.endless(err) : TestClusterError.of(err)
      const open = this.#open()
      // When nobody waits any more, the next call that moves time reports the error.
      if (open.length === 0) this.#unreported = failure
      for (const waiting of open) waiting.giveUp(failure)
    } finally {
      this.#pumping = false
    }
  }

  /** Makes one step: to the end of this instant, or to the next at which a timer is due. */
  async #step(clock: VirtualClock): Promise<void> {
    const idle = () => this.#moving > 0 || this.#open().length === 0
    await clock.settle()
    if (idle()) return
    const times = this.#open().map(({ outerWorldMs }) => outerWorldMs)
    const ms = times.includes(OUTER_WORLD_MS) ? OUTER_WORLD_MS : smallest(times)
    if (ms > 0) {
      await this.#outerWorld(ms, idle)
      for (const waiting of this.#open()) if (waiting.outerWorldMs <= ms) waiting.outerWorldMs = 0
      if (idle()) return
    }
    const due = clock.nextDue ?? Infinity
    // The wall clock may have jumped since the wait began.
    const left = smallest(this.#open().map(({ deadline }) => deadline)) - clock.monotonic()
    const first = clock.now() + left
    await clock.advanceTo(Math.min(due, first))
    if (due < first) return
    await clock.quiet()
    for (const waiting of this.#open())
      if (waiting.deadline <= clock.monotonic()) waiting.giveUp(this.#notEnded(waiting, PATIENCE_MS))
  }

  #open(): readonly Waiting[] {
    return [...this.#waiting].filter(({ ended }) => !ended)
  }

  /** Lets real time pass, in case that work waits for something outside: a file, a socket, a thread. */
  async #outerWorld(ms: number, enough: () => boolean): Promise<void> {
    const until = realClock.monotonic() + ms
    while (!enough() && realClock.monotonic() < until)
      await new Promise<void>((resolve) => void realClock.setTimeout(resolve, 1))
  }

  #notEnded({ what }: Waiting, patience: number): TestClusterError {
    const { virtual, hindrances, replay } = this.#options
    return new TestClusterError(
      [
        `Not done within ${formatDuration(patience)}${virtual === undefined ? "" : " of virtual time"} ` +
          `(${replay}): ${what()}`,
        ...hindrances(),
      ].join("\n  "),
      { reason: "Timeout" },
    )
  }
}
