import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Service } from "../../api/core/v1/service/service.ts"
import { isPodReady } from "../../pods/pod-state.ts"
import { finding, nameOf, type Finding } from "../answer.ts"
import { refOf } from "../reading/kinds.ts"

/** Returns that a Service sends only to pods of the client's node (internalTrafficPolicy Local), and none is there. */
export function localEndpointsFinding(source: Pod, service: Service, pods: readonly Pod[]): Finding | undefined {
  const { nodeName = "" } = source.spec
  const ready = pods.filter(isPodReady)
  if (service.spec.internalTrafficPolicy !== "Local" || nodeName === "" || ready.length === 0) return undefined
  if (ready.some(({ spec }) => spec.nodeName === nodeName)) return undefined
  const nodes = [...new Set(ready.map(({ spec }) => spec.nodeName ?? ""))].toSorted()
  return finding(
    "service-local-endpoints",
    `${nameOf(refOf(service))} sends only to pods of the client's node (internalTrafficPolicy Local), and none of its ready pods is on node ${nodeName}: they are on ${nodes.join(", ")}`,
    { hints: ["run a pod of it on each node (a DaemonSet), or use internalTrafficPolicy Cluster"] },
  )
}
