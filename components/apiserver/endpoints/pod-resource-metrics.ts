import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { limitsOf, requestsOf, type Amounts } from "../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"

const LABELS = ["namespace", "pod", "node", "scheduler", "priority", "resource", "unit"] as const

/**
 * Returns what the pods that have not ended request and are limited to, as the scheduler counts it. Source:
 * pkg/scheduler/metrics/resources.
 */
export function podResourceMetrics(pods: readonly Pod[]): string {
  const registry = new Registry()
  const requests = registry.gauge(
    "kube_pod_resource_request",
    "Resources requested by workloads on the cluster, broken down by pod.",
    ...LABELS,
  )
  const limits = registry.gauge(
    "kube_pod_resource_limit",
    "Resources limit for workloads on the cluster, broken down by pod.",
    ...LABELS,
  )
  for (const pod of pods) {
    if (isPodTerminal(pod)) continue
    const { metadata, spec } = pod
    const of = [metadata.namespace ?? "", metadata.name ?? "", spec.nodeName ?? "", spec.schedulerName]
    const priority = spec.priority === undefined ? "" : String(spec.priority)
    for (const [family, amounts] of [
      [requests, requestsOf(pod).exact],
      [limits, limitsOf(pod)],
    ] as const)
      for (const [resource, unit, value] of listed(amounts)) family.with(...of, priority, resource, unit).set(value)
  }
  return registry.text()
}

function* listed({ cpu, memory, ephemeral, scalar }: Amounts): Iterable<readonly [string, string, number]> {
  if (cpu > 0) yield ["cpu", "cores", cpu / 1000]
  if (memory > 0) yield ["memory", "bytes", memory]
  if (ephemeral > 0) yield ["ephemeral-storage", "bytes", ephemeral]
  for (const [resource, value] of scalar)
    if (value > 0) yield [resource, resource.startsWith("hugepages-") ? "bytes" : "integer", value]
}
