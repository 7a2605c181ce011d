import { Registry } from "../metrics/registry.ts"

/** The metrics of `/metrics/slis`: the results of the health checks, recorded at each request to a health endpoint. */
export interface HealthSlis {
  readonly registry: Registry
  /** `endpoint` is healthz, livez or readyz. */
  observe(endpoint: string, name: string, isWell: boolean): void
}

/**
 * `startedAt`: start of the process, in milliseconds since the epoch. Source: component-base
 * metrics/prometheus/slis/metrics.go.
 */
export function createHealthSlis(startedAt: number): HealthSlis {
  const registry = new Registry()
  const last = registry.gauge(
    "kubernetes_healthcheck",
    "[STABLE] This metric records the result of a single healthcheck.",
    "name",
    "type",
  )
  const total = registry.counter(
    "kubernetes_healthchecks_total",
    "[STABLE] This metric records the results of all healthcheck.",
    "name",
    "status",
    "type",
  )
  registry.read(
    "gauge",
    "process_start_time_seconds",
    "[ALPHA] Start time of the process since unix epoch in seconds.",
    () => startedAt / 1000,
  )
  return {
    registry,
    observe(endpoint, name, isWell) {
      last.with(name, endpoint).set(isWell ? 1 : 0)
      total.with(name, isWell ? "success" : "error", endpoint).inc()
    },
  }
}
