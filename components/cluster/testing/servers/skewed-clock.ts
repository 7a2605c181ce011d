import {
  loaded,
  type Clock,
  type RestOptions,
  type Resting,
  type Timer,
  type TimerKind,
} from "../../../../pkg/clock/clock.ts"

/** The clock of one machine, whose wall clock may differ from that of the others. Delays take as long as everywhere. */
export class SkewedClock implements Clock {
  readonly #clock: Clock
  /** By how many milliseconds the wall clock is ahead. */
  aheadMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now = (): number => this.#clock.now() + this.aheadMs
  monotonic = (): number => this.#clock.monotonic()
  setTimeout = (run: () => void, ms: number, kind?: TimerKind, place?: Timer): Timer =>
    this.#clock.setTimeout(run, ms, kind, place)
  rest = (timer: Timer, options: RestOptions): Resting | undefined => this.#clock.rest?.(timer, options)
  afterTurn = (run: () => void): void => this.#clock.afterTurn(run)
  atRest = (run: () => void): void => this.#clock.atRest(run)
  stillDuring = <T>(work: Promise<T>): Promise<T> => loaded(this.#clock, work)
}
