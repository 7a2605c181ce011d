import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { allocatableAmounts, requestsOf } from "../../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import { ApiError, forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { on, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

/**
 * Refuses a resize that the pod's node could not hold if it were empty, or cannot do at all. Source:
 * plugin/pkg/admission/podresize.
 */
export const podResize = ({ objects }: AdmissionContext): AdmissionPlugin =>
  on(Pod, {
    name: "PodResizeValidator",
    operations: ["UPDATE"],
    subresources: ["resize"],
    validate({ resource, name, object: pod, old }) {
      const { nodeName = "" } = pod.spec
      if (nodeName === "" || old?.metadata.generation === pod.metadata.generation) return
      const node = objects.get(Node, { name: nodeName })
      if (node === undefined) throw forbidden(resource, name, `node ${JSON.stringify(nodeName)} not found`)
      const system = node.metadata.labels?.["kubernetes.io/os"] ?? "linux"
      if (system !== "linux")
        throw refused(
          resource,
          name,
          "UnsupportedPlatform",
          `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(system)}`,
        )
      const short = shortages(pod, node)
      if (short.length > 0)
        throw refused(
          resource,
          name,
          "NodeCapacity",
          `node didn't have enough allocatable resources: ${short.join("; ")}`,
        )
    },
  })

function shortages(pod: Pod, { status }: Node): readonly string[] {
  const wanted = requestsOf(pod).exact
  const has = allocatableAmounts(status.allocatable)
  return (["cpu", "memory"] as const).flatMap((name) =>
    wanted[name] > has[name] ? [`${name}, requested: ${wanted[name]}, allocatable: ${has[name]}`] : [],
  )
}

function refused(resource: Resource, name: string, reason: "NodeCapacity" | "UnsupportedPlatform", why: string) {
  const { message, details } = forbidden(resource, name, why)
  return new ApiError("Forbidden", message, { ...details, causes: [{ reason, message: "" }] })
}
