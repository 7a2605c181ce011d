import { formatDuration } from "../../../../pkg/apimachinery/time.ts"
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { realClock } from "../../../../pkg/clock/real.ts"
import { EndlessInstantError, type VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { TestClusterError } from "../caller.ts"

export interface DriverOptions {
  readonly clock: Clock
  /** None with the system's time, which moves by itself. */
  readonly virtual: VirtualClock | undefined
  /** What may keep work from its end, a line each: faults that are there, requests that are held up. */
  readonly hindrances: () => readonly string[]
  /** What is told of an instant that does not end. */
  readonly endless: (err: EndlessInstantError) => Error
  /** Words that say how to replay the run. */
  readonly replay: string
  /** Time was moved, and stands still again. */
  readonly moved: () => void
}

/** How long work may take in virtual time, and in real time with the system's clock. */
const PATIENCE_MS = 5 * 60_000
const REAL_PATIENCE_MS = 60_000
/** Work may wait for the outer world, of which the clock knows nothing: it is given so long before time is moved. */
const OUTER_WORLD_MS = 10

interface Waiting {
  readonly what: () => string
  /** In milliseconds of monotonic time. */
  readonly deadline: number
  ended: boolean
  /** Whether the outer world was waited for. */
  waited: boolean
  giveUp(err: Error): void
}

/**
 * Moves virtual time for whoever waits. What a test awaits may itself wait for time: for a back-off, an image's sleep,
 * a rule that delays. So time goes from one due timer to the next while something is awaited and nobody moves time on
 * purpose.
 */
export class Driver {
  readonly #options: DriverOptions
  readonly #waiting = new Set<Waiting>()
  #pumping = false
  #exact = 0
  #untold: Error | undefined
  #moving = 0
  /** Resolves when nobody moves time on purpose any more. */
  #still = Promise.withResolvers<void>()

  constructor(options: DriverOptions) {
    this.#options = options
  }

  /** Whether time is a virtual one, and so moved by us. */
  get isVirtual(): boolean {
    return this.#options.virtual !== undefined
  }

  /**
   * Lets heartbeats and what watches for them run at their very instants, since something is wrong that they notice or
   * mend. Returns what ends that.
   */
  beExact(): () => void {
    const { virtual } = this.#options
    if (virtual === undefined) return () => {}
    this.#exact++
    virtual.exact = true
    let over = false
    return () => {
      if (over) return
      over = true
      if (--this.#exact === 0) virtual.exact = false
    }
  }

  /**
   * What `work` gives.
   * @param what says what is awaited: `apply waits for …`
   * @throws TestClusterError when it has not ended within five minutes of virtual time, or nothing is due that could
   * end it
   */
  async ended<T>(what: () => string, work: Promise<T>): Promise<T> {
    const { virtual, clock } = this.#options
    const { promise: gaveUp, reject } = Promise.withResolvers<never>()
    const waiting: Waiting = {
      what,
      ended: false,
      waited: false,
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
   * Moves time on purpose: while this runs nobody else does. @throws what `endless` says of an instant that does not
   * end
   */
  async move<T>(work: (clock: VirtualClock) => Promise<T>): Promise<T | undefined> {
    const { virtual, endless } = this.#options
    if (virtual === undefined) return undefined
    if (this.#moving++ === 0) this.#still = Promise.withResolvers<void>()
    try {
      const done = await work(virtual)
      const untold = this.#untold
      this.#untold = undefined
      if (untold !== undefined) throw untold
      return done
    } catch (err) {
      throw err instanceof EndlessInstantError ? endless(err) : err
    } finally {
      this.#options.moved()
      if (--this.#moving === 0) this.#still.resolve()
    }
  }

  /** Never rejects. */
  async #pump(clock: VirtualClock): Promise<void> {
    this.#pumping = true
    try {
      // A turn passes first: most calls have ended by then, and a test that moves time on purpose has begun to.
      for (await clock.quiet(); this.#waiting.size > 0; await clock.quiet())
        await (this.#moving > 0 ? this.#still.promise : this.#step(clock).finally(this.#options.moved))
    } catch (err) {
      const told = err instanceof EndlessInstantError ? this.#options.endless(err) : TestClusterError.of(err)
      const open = this.#open()
      // Where nobody waits any more, the next to move time is told.
      if (open.length === 0) this.#untold = told
      for (const waiting of open) waiting.giveUp(told)
    } finally {
      this.#pumping = false
    }
  }

  /** One step: to the end of this instant, or to the next at which something is due. */
  async #step(clock: VirtualClock): Promise<void> {
    const idle = () => this.#moving > 0 || this.#open().length === 0
    await clock.settle()
    if (idle()) return
    if (this.#open().some(({ waited }) => !waited)) {
      await this.#outerWorld(idle)
      for (const waiting of this.#open()) waiting.waited = true
      if (idle()) return
    }
    const due = clock.nextDue ?? Infinity
    // The wall clock may have jumped since the waiting began.
    const left = Math.min(...this.#open().map(({ deadline }) => deadline)) - clock.monotonic()
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

  /** Lets real time pass, in case that something of the outer world is awaited: a file, a socket, a thread. */
  async #outerWorld(enough: () => boolean): Promise<void> {
    const until = realClock.monotonic() + OUTER_WORLD_MS
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
