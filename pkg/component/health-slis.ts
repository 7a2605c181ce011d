import { Registry, type Value } from "../metrics/registry.ts"

/** The metrics of `/metrics/slis`: the results of the health checks, recorded at each request to a health endpoint. */
export interface HealthSlis {
  readonly registry: Registry
  /** Returns what records the result of a check at an endpoint: healthz, livez or readyz. */
  at(endpoint: string): (name: string, isWell: boolean) => void
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
  // A request to a health endpoint records dozens of checks, so their series are found without joining labels.
  const known = new Map<string, Map<string, CheckSeries>>()
  return {
    registry,
    at(endpoint) {
      let ofEndpoint = known.get(endpoint)
      if (ofEndpoint === undefined) known.set(endpoint, (ofEndpoint = new Map<string, CheckSeries>()))
      const byName = ofEndpoint
      return (name, isWell) => {
        let series = byName.get(name)
        if (series === undefined) byName.set(name, (series = { last: last.with(name, endpoint) }))
        series.last.set(isWell ? 1 : 0)
        const count = isWell
          ? (series.success ??= total.with(name, "success", endpoint))
          : (series.error ??= total.with(name, "error", endpoint))
        count.inc()
      }
    },
  }
}

/** The series of one check at one endpoint. The counters exist once there is something to count. */
interface CheckSeries {
  readonly last: Value
  success?: Value
  error?: Value
}
