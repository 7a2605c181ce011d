import { Registry } from "../../../pkg/metrics/registry.ts"

/**
 * What the aggregator tells of APIServices, under upstream's names. Source: kube-aggregator
 * pkg/controllers/status/metrics/metrics.go.
 */
export interface AggregatorMetrics {
  available(name: string, isAvailable: boolean): void
  /** An APIService that was available is not any more. */
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
