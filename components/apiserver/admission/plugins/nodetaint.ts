import type { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { TAINT } from "../../../../pkg/api/core/v1/node/taints.ts"
import type { AdmissionPlugin } from "../admission.ts"

/**
 * A new node takes no pods until the node lifecycle controller has seen it ready. Source:
 * plugin/pkg/admission/nodetaint.
 */
export const taintNodesByCondition: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  operations: ["CREATE"],
  kinds: ["nodes"],
  admit({ subresource, object }) {
    if (subresource !== undefined) return undefined
    const node = object as Node
    const taints = node.spec.taints ?? []
    if (taints.some(({ key, effect }) => key === TAINT.notReady && effect === "NoSchedule")) return undefined
    return {
      ...node,
      spec: { ...node.spec, taints: [...taints, { key: TAINT.notReady, effect: "NoSchedule" }] },
    } as Node
  },
}
