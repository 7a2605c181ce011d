import { Registry } from "../../../pkg/metrics/registry.ts"

/** Metrics of APIServices, with upstream's names. Source: kube-aggregator pkg/controllers/status/metrics/metrics.go. */
export interface AggregatorMetrics {
  available(name: string, isAvailable: boolean): void
  /** Counts an APIService that was available and no longer is. */
  lost(name: string, reason: string): void
  forget(name: string): void
}

export function aggregatorMetrics(registry: Registry = new Registry()): AggregatorMetrics {
  const unavailable = registry.gauge(
    "aggregator_unavailable_apiservice",
    "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
    "name",
  )
  const losses = registry.counter(
    "aggregator_unavailable_apiservice_total",
    "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
    "name",
    "reason",
  )
  return {
    available: (name, isAvailable) => unavailable.with(name).set(isAvailable ? 0 : 1),
    lost: (name, reason) => losses.with(name, reason).inc(),
    forget: (name) => unavailable.remove(name),
  }
}
