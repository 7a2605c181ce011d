import { Binding } from "../../../../pkg/api/core/v1/binding.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { qualified } from "../../../../pkg/apimachinery/errors.ts"
import { isKind, type KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const TOPOLOGY = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"]

/**
 * Gives a pod the zone and the region of its node as labels, when it is bound or created with a node: so the downward
 * API shows them to its containers. Source: plugin/pkg/admission/podtopologylabels.
 */
export const podTopologyLabels = ({ objects }: AdmissionContext): AdmissionPlugin => ({
  name: "PodTopologyLabels",
  operations: ["CREATE"],
  kinds: [qualified(Pod)],
  admit({ object, subresource }) {
    if (object === undefined) return undefined
    const nodeName = nodeOf(object, subresource)
    const labels = nodeName === "" ? undefined : objects.get(Node, { name: nodeName })?.metadata.labels
    const copied = TOPOLOGY.flatMap((key) => (labels?.[key] === undefined ? [] : [[key, labels[key]] as const]))
    if (copied.length === 0) return undefined
    const { metadata } = object
    return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, ...Object.fromEntries(copied) } } }
  },
})

/** Admission runs before validation, so even required fields may be absent. */
function nodeOf(object: KubeObject, subresource: string | undefined): string {
  if (subresource === undefined && isKind(Pod, object)) return object.spec.nodeName ?? ""
  if (subresource !== "binding" || !isKind(Binding, object)) return ""
  const target = object.target as Binding["target"] | undefined
  return target?.kind === "Node" ? (target.name ?? "") : ""
}
