import { TAINT, tolerates } from "../../../pkg/api/core/v1/node/taints.ts"
import { SUCCESS, unresolvable, type Plugin } from "../framework.ts"

/** Filters out cordoned nodes, unless the pod tolerates that. Source: plugins/nodeunschedulable. */
export const nodeUnschedulable: Plugin = {
  name: "NodeUnschedulable",
  eventsToRegister: ["Node/Add", "Node/UpdateTaint", "Pod/Update"],
  signature: ({ spec }) => spec.tolerations,
  filter(_state, pod, { node }) {
    if (node.spec.unschedulable !== true) return SUCCESS
    const tolerated = (pod.spec.tolerations ?? []).some((toleration) =>
      tolerates(toleration, { key: TAINT.unschedulable, effect: "NoSchedule" }),
    )
    return tolerated ? SUCCESS : unresolvable("node(s) were unschedulable")
  },
}
