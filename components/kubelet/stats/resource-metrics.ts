import type { MetricFamily, Series } from "../../../pkg/metrics/exposition.ts"
import type { ContainerStats, PodStats, Summary } from "./summary-types.ts"

/**
 * Formats /metrics/resource, which metrics-server reads. `at`: when the summary was measured. Source:
 * pkg/kubelet/metrics/collectors/resource_metrics.go.
 */
export function resourceMetrics({ node, pods }: Summary, at: number): readonly MetricFamily[] {
  const measured = (value: number | undefined, labels: Series["labels"] = {}): readonly Series[] =>
    value === undefined ? [] : [{ labels, value, at }]
  const seconds = (nanoseconds: number | undefined) => (nanoseconds === undefined ? undefined : nanoseconds / 1e9)
  const ofPods = (value: (pod: PodStats) => number | undefined) =>
    pods.flatMap((pod) => measured(value(pod), { namespace: pod.podRef.namespace, pod: pod.podRef.name }))
  const ofContainers = (value: (container: ContainerStats) => number | undefined) =>
    pods.flatMap((pod) =>
      pod.containers.flatMap((container) =>
        measured(value(container), {
          container: container.name,
          namespace: pod.podRef.namespace,
          pod: pod.podRef.name,
        }),
      ),
    )
  const family = (name: string, kind: MetricFamily["kind"], help: string, series: readonly Series[]): MetricFamily => ({
    name,
    kind,
    help,
    series,
  })
  return [
    family(
      "node_cpu_usage_seconds_total",
      "counter",
      "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
      measured(seconds(node.cpu?.usageCoreNanoSeconds)),
    ),
    family(
      "node_memory_working_set_bytes",
      "gauge",
      "[STABLE] Current working set of the node in bytes",
      measured(node.memory?.workingSetBytes),
    ),
    family(
      "node_swap_usage_bytes",
      "gauge",
      "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems",
      measured(node.swap?.swapUsageBytes),
    ),
    family(
      "container_start_time_seconds",
      "gauge",
      "[STABLE] Start time of the container since unix epoch in seconds",
      ofContainers(({ startTime }) => Date.parse(startTime) / 1000).map(({ labels, value }) => ({ labels, value })),
    ),
    family(
      "container_cpu_usage_seconds_total",
      "counter",
      "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
      ofContainers(({ cpu }) => seconds(cpu?.usageCoreNanoSeconds)),
    ),
    family(
      "container_memory_working_set_bytes",
      "gauge",
      "[STABLE] Current working set of the container in bytes",
      ofContainers(({ memory }) => memory?.workingSetBytes),
    ),
    family(
      "container_swap_usage_bytes",
      "gauge",
      "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems",
      ofContainers(({ swap }) => swap?.swapUsageBytes),
    ),
    family(
      "container_swap_limit_bytes",
      "gauge",
      "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
      ofContainers(({ swap }) =>
        swap?.swapAvailableBytes === undefined ? undefined : swap.swapAvailableBytes + swap.swapUsageBytes,
      ),
    ),
    family(
      "pod_cpu_usage_seconds_total",
      "counter",
      "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
      ofPods(({ cpu }) => seconds(cpu?.usageCoreNanoSeconds)),
    ),
    family(
      "pod_memory_working_set_bytes",
      "gauge",
      "[STABLE] Current working set of the pod in bytes",
      ofPods(({ memory }) => memory?.workingSetBytes),
    ),
    family(
      "pod_swap_usage_bytes",
      "gauge",
      "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
      ofPods(({ swap }) => swap?.swapUsageBytes),
    ),
    family(
      "resource_scrape_error",
      "gauge",
      "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
      [{ labels: {}, value: 0 }],
    ),
  ]
}
