import { readdirSync, readFileSync } from "node:fs"
import { containedFailures } from "../failure/contain.ts"
import type { Registry } from "./registry.ts"

/**
 * Registers the metrics that every Prometheus client has of its process; they are read at each request. `startedAt`:
 * milliseconds since the epoch. Source: prometheus client_golang process collector.
 */
export function registerProcessMetrics(registry: Registry, startedAt: number): void {
  registry.read("counter", "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  registry.read("gauge", "process_resident_memory_bytes", "Resident memory size in bytes.", () =>
    process.memoryUsage.rss(),
  )
  registry.read(
    "gauge",
    "process_start_time_seconds",
    "Start time of the process since the Unix epoch in seconds.",
    () => startedAt / 1000,
  )
  registry.readEach(
    "counter",
    "k3ts_contained_failures_total",
    "Number of failures that ended or delayed only what they concerned, by the place that contained them.",
    "place",
    () => Object.fromEntries(containedFailures()),
  )
  registry.read("gauge", "process_open_fds", "Number of open file descriptors.", () =>
    counted(() => readdirSync("/proc/self/fd").length),
  )
  registry.read("gauge", "process_max_fds", "Maximum number of open file descriptors.", () =>
    counted(() => Number(/Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 0)),
  )
  registry.read("gauge", "process_virtual_memory_bytes", "Virtual memory size in bytes.", () =>
    counted(() => Number(readFileSync("/proc/self/statm", "utf8").split(" ")[0]) * 4096),
  )
}

/** Returns zero on a system without /proc. */
function counted(read: () => number): number {
  try {
    return read()
  } catch {
    return 0
  }
}
