import type { Registry } from "../../../pkg/metrics/registry.ts"

/** What autoscaling did, or proposed. */
export type Action = "scale_up" | "scale_down" | "none"
/** Upstream also has `spec`, for metric types and API versions that the API refuses here. */
export type Failure = "internal" | "none"

export const actionFrom = (current: number, wanted: number): Action =>
  wanted > current ? "scale_up" : wanted < current ? "scale_down" : "none"

/** 1 ms to 16 s, each twice the one before. */
const BUCKETS = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i)
const SUBSYSTEM = "horizontal_pod_autoscaler_controller"
const OUTCOME = ["action", "error"] as const

/**
 * The figures of the autoscaler, by upstream's names. Differs from upstream: the replicas of an autoscaler that is
 * deleted are not shown any more. Source: pkg/controller/podautoscaler/monitor.
 */
export class AutoscalerMetrics {
  readonly #reconciliations
  readonly #reconciling
  readonly #computations
  readonly #computing
  readonly #autoscalers
  readonly #desired

  constructor(registry: Registry) {
    const name = (rest: string) => `${SUBSYSTEM}_${rest}`
    this.#reconciliations = registry.counter(
      name("reconciliations_total"),
      "How often autoscalers were reconciled",
      ...OUTCOME,
    )
    this.#reconciling = registry.histogram(
      name("reconciliation_duration_seconds"),
      "Seconds that the reconciliation of an autoscaler took",
      BUCKETS,
      ...OUTCOME,
    )
    this.#computations = registry.counter(
      name("metric_computation_total"),
      "How often replicas were computed from a metric",
      ...OUTCOME,
      "metric_type",
    )
    this.#computing = registry.histogram(
      name("metric_computation_duration_seconds"),
      "Seconds that the computation of replicas from a metric took",
      BUCKETS,
      ...OUTCOME,
      "metric_type",
    )
    this.#autoscalers = registry.gauge(name("num_horizontal_pod_autoscalers"), "Autoscalers that there are").with()
    this.#desired = registry.gauge(
      name("desired_replicas"),
      "Replicas that an autoscaler wants",
      "namespace",
      "hpa_name",
    )
  }

  reconciled(action: Action, failure: Failure, ms: number): void {
    this.#reconciliations.with(action, failure).inc()
    this.#reconciling.with(action, failure).observe(ms / 1000)
  }

  computed(metricType: string, action: Action, failure: Failure, ms: number): void {
    this.#computations.with(action, failure, metricType).inc()
    this.#computing.with(action, failure, metricType).observe(ms / 1000)
  }

  /** There are so many autoscalers now. */
  counted(autoscalers: number): void {
    this.#autoscalers.set(autoscalers)
  }

  desired(namespace: string, name: string, replicas: number): void {
    this.#desired.with(namespace, name).set(replicas)
  }

  forget(namespace: string, name: string): void {
    this.#desired.remove(namespace, name)
  }
}
