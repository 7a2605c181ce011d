import type { Registry } from "../../../pkg/metrics/registry.ts"

/** The figures of each zone. Source: pkg/controller/nodelifecycle/metrics.go. */
export class ZoneMetrics {
  readonly #health
  readonly #size
  readonly #unhealthy
  readonly #evictions

  constructor(registry: Registry) {
    const gauge = (name: string, help: string) => registry.gauge(`node_collector_${name}`, help, "zone")
    this.#health = gauge("zone_health", "Gauge measuring percentage of healthy nodes per zone.")
    this.#size = gauge("zone_size", "Gauge measuring number of registered Nodes per zones.")
    this.#unhealthy = gauge("unhealthy_nodes_in_zone", "Gauge measuring number of not Ready Nodes per zones.")
    this.#evictions = registry.counter(
      "node_collector_evictions_total",
      "Number of Node evictions that happened since current instance of NodeController started.",
      "zone",
    )
  }

  counted(zone: string, size: number, unready: number): void {
    this.#size.with(zone).set(size)
    this.#health.with(zone).set(size === 0 ? 100 : (100 * (size - unready)) / size)
    this.#unhealthy.with(zone).set(unready)
    this.#evictions.with(zone).inc(0)
  }

  /** Called when no node is in a zone any more. A node names its zone itself, as often as it likes. */
  gone(zone: string): void {
    for (const family of [this.#health, this.#size, this.#unhealthy, this.#evictions]) family.remove(zone)
  }

  evicted(zone: string): void {
    this.#evictions.with(zone).inc()
  }
}
