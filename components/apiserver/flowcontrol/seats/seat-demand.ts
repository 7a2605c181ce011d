/**
 * The period over which demand is measured, and after which seats are divided again. Source: borrowingAdjustmentPeriod.
 */
export const PERIOD_MS = 10_000
/** The factor by which smoothed demand shrinks in a period without demand: by half in 5 minutes. */
const SMOOTHING = 0.977

/** The demand of one whole period. */
export interface DemandFigures {
  readonly highWatermark: number
  readonly average: number
  readonly deviation: number
  /** Rises with the demand (average plus deviation) at once, and falls slowly. */
  readonly smoothed: number
}

/**
 * Measures the seats that a priority level has wanted, in periods of ten seconds. Sources: apiserver
 * pkg/util/flowcontrol/fairqueuing/integrator.go, seatDemandStats in apf_controller.go. Differs from upstream: no timer
 * ends a period. The first call after the end of a period ends it, so an idle server does nothing.
 */
export class SeatDemand {
  figures: DemandFigures = { highWatermark: 0, average: 0, deviation: 0, smoothed: 0 }
  #value = 0
  /** When the current period began; the first one begins when the level is created. */
  #began: number
  #since: number
  #periodEnd: number
  /** Integrals of the value and of its square over the period. */
  #integral = 0
  #squares = 0
  #max = 0

  /** `now`: milliseconds of the monotonic clock, like all times here. */
  constructor(now: number) {
    this.#began = this.#since = now
    this.#periodEnd = endOfPeriod(now)
  }

  set(value: number, now: number): void {
    this.roll(now)
    this.#integrate(now)
    this.#value = value
    if (value > this.#max) this.#max = value
  }

  /** Ends the periods that have passed. */
  roll(now: number): void {
    if (now < this.#periodEnd) return
    const value = this.#value
    const length = this.#periodEnd - this.#began
    this.#integrate(this.#periodEnd)
    const average = this.#integral / length
    const deviation = Math.sqrt(Math.max(0, this.#squares / length - average * average))
    this.#close(this.#max, average, deviation)
    const missed = Math.floor((now - this.#periodEnd) / PERIOD_MS)
    if (missed > 0) this.#closeAlike(value, missed)
    this.#periodEnd += (missed + 1) * PERIOD_MS
    this.#began = this.#since = this.#periodEnd - PERIOD_MS
    this.#integral = 0
    this.#squares = 0
    this.#max = value
  }

  #integrate(until: number): void {
    const ms = until - this.#since
    this.#integral += this.#value * ms
    this.#squares += this.#value * this.#value * ms
    this.#since = until
  }

  #close(highWatermark: number, average: number, deviation: number): void {
    const envelope = average + deviation
    const smoothed = Math.max(envelope, SMOOTHING * this.figures.smoothed + (1 - SMOOTHING) * envelope)
    this.figures = { highWatermark, average, deviation, smoothed }
  }

  /** Ends `periods` periods in which the value did not change. */
  #closeAlike(value: number, periods: number): void {
    const above = Math.max(0, this.figures.smoothed - value)
    const smoothed = value + above * SMOOTHING ** periods
    this.figures = { highWatermark: value, average: value, deviation: 0, smoothed }
  }
}

/** Returns the end of the period that contains `time`. The periods of all levels are the same. */
export const endOfPeriod = (now: number): number => (Math.floor(now / PERIOD_MS) + 1) * PERIOD_MS
