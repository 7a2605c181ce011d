import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { fromLabels } from "../../apimachinery/selectors/labels.ts"
import type { Ward } from "../doctor.ts"
import { PODS } from "../reading/kinds.ts"

/** Returns the pods that a Service selects, and all pods of its namespace. */
export async function podsOf(
  { metadata, spec }: Service,
  { reader }: Ward,
): Promise<{ readonly pods: readonly Pod[]; readonly all: readonly Pod[] }> {
  const all = await reader.list(PODS, metadata.namespace)
  if (spec.selector === undefined || Object.keys(spec.selector).length === 0) return { pods: [], all }
  const selector = fromLabels(spec.selector)
  return {
    all,
    pods: all.filter(
      (pod) =>
        selector.matches(pod.metadata.labels) &&
        pod.metadata.deletionTimestamp === undefined &&
        !["Succeeded", "Failed"].includes(pod.status.phase ?? ""),
    ),
  }
}

interface ServicePort {
  readonly targetPort?: string | number | undefined
  readonly port: number
  readonly protocol?: string | undefined
}

/**
 * Returns the number of the port that a Service sends to in a pod; undefined where the pod has no port of this name and
 * protocol.
 */
export function targetPortIn(pod: Pod, { targetPort, port, protocol }: ServicePort): number | undefined {
  if (targetPort === undefined || targetPort === 0 || targetPort === "") return port
  if (typeof targetPort === "number") return targetPort
  return portsIn(pod).find((one) => one.name === targetPort && (one.protocol ?? "TCP") === (protocol ?? "TCP"))
    ?.containerPort
}

/** Returns the ports that a pod declares, those of its sidecars last. Source: api/v1/pod FindPort. */
export const portsIn = ({ spec }: Pod) =>
  [...spec.containers, ...(spec.initContainers ?? []).filter((one) => one.restartPolicy === "Always")].flatMap(
    ({ ports }) => ports ?? [],
  )

/** Whether another port of a Service than `port` leads to a port of a pod already, which is then not what `port` means. */
export const isLedTo = ({ spec }: Service, port: ServicePort, pod: Pod, number: number | undefined): boolean =>
  (spec.ports ?? []).some((one) => one !== port && targetPortIn(pod, one) === number)
