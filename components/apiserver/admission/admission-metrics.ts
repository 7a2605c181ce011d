import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Distribution, Registry } from "../../../pkg/metrics/registry.ts"
import type { Operation } from "../webhooks/review.ts"

type Type = "admit" | "validate"

/** Source: apiserver pkg/admission/metrics/metrics.go latencyBuckets. */
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5]

/** Measures admission plugins, each and all together. */
export interface AdmissionMetrics {
  /** Returns what measures a plugin's part in requests. */
  plugin(name: string, type: Type, operation: Operation): Durations
  /** Returns what measures all plugins together. */
  all(type: Type, operation: Operation): Durations
  /** Returns what measures the parts of one request, one after the other, from now on. */
  laps(): Laps
}

/** The time that an operation took where it was allowed, and where it was refused. */
export class Durations {
  readonly #of: (rejected: "true" | "false") => Distribution
  #passed: Distribution | undefined
  #refused: Distribution | undefined
  /** `of` is called for a series when that has its first value. */
  constructor(of: (rejected: "true" | "false") => Distribution) {
    this.#of = of
  }
  passed(ms: number): void {
    const series = (this.#passed ??= this.#of("false"))
    series.observe(ms / 1000)
  }
  refused(ms: number): void {
    const series = (this.#refused ??= this.#of("true"))
    series.observe(ms / 1000)
  }
}

/** The clock is read once for each plugin: where one ends the next begins. */
export class Laps {
  readonly #clock: Pick<Clock, "monotonic">
  #began: number
  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock
    this.#began = clock.monotonic()
  }
  passed(durations: Durations | undefined): void {
    const now = this.#clock.monotonic()
    durations?.passed(now - this.#began)
    this.#began = now
  }
  refused(durations: Durations | undefined): void {
    durations?.refused(this.#clock.monotonic() - this.#began)
  }
}

export function admissionMetrics(registry: Registry, clock: Pick<Clock, "monotonic">): AdmissionMetrics {
  const controllers = registry.histogram(
    "apiserver_admission_controller_admission_duration_seconds",
    "Seconds that an admission plugin took, by its name, the operation, and whether it refused.",
    BUCKETS,
    "name",
    "type",
    "operation",
    "rejected",
  )
  const steps = registry.histogram(
    "apiserver_admission_step_admission_duration_seconds",
    "Seconds that all admission plugins took, by the operation, and whether one refused.",
    BUCKETS,
    "type",
    "operation",
    "rejected",
  )
  /** A plugin is asked about many kinds, and has the same series for all of them. */
  const plugins = new Map<string, Durations>()

  return {
    plugin(name, type, operation) {
      const key = `${name} ${type} ${operation}`
      let durations = plugins.get(key)
      if (durations === undefined) {
        durations = new Durations((rejected) => controllers.with(name, type, operation, rejected))
        plugins.set(key, durations)
      }
      return durations
    },
    laps: () => new Laps(clock),
    all: (type, operation) => new Durations((rejected) => steps.with(type, operation, rejected)),
  }
}
