import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { TAINT } from "../../../../pkg/api/core/v1/node/taints.ts"
import { on, type AdmissionPlugin } from "../admission.ts"

const UNSEEN = { key: TAINT.notReady, effect: "NoSchedule" } as const

/**
 * Taints a new Node so that no pods are scheduled to it until the node lifecycle controller has seen it ready. Source:
 * plugin/pkg/admission/nodetaint.
 */
export const taintNodesByCondition: AdmissionPlugin = on(Node, {
  name: "TaintNodesByCondition",
  operations: ["CREATE"],
  admit({ object: node }) {
    const taints = node.spec.taints ?? []
    if (taints.some(({ key, effect }) => key === TAINT.notReady && effect === "NoSchedule")) return undefined
    return { ...node, spec: { ...node.spec, taints: [...taints, UNSEEN] } }
  },
})
