import { isSoft, tolerates, untolerated } from "../../../pkg/api/core/v1/node/taints.ts"
import { normalized, SKIP, SUCCESS, unresolvable, type Plugin } from "../framework.ts"

/**
 * Filters out nodes with a NoSchedule or NoExecute taint that the pod does not tolerate, and prefers nodes with fewer
 * PreferNoSchedule taints that it does not tolerate. Source: plugins/tainttoleration.
 */
export const taintToleration: Plugin = {
  name: "TaintToleration",
  eventsToRegister: ["Node/Add", "Node/UpdateTaint", "Pod/Update"],
  signature: ({ spec }) => spec.tolerations,
  filter(_state, pod, { node }) {
    const taint = untolerated(node.spec.taints, pod.spec.tolerations, ["NoSchedule", "NoExecute"])
    return taint === undefined
      ? SUCCESS
      : // evicting pods would not help
        unresolvable("node(s) had untolerated taint(s)")
  },
  // Without any PreferNoSchedule taint all nodes score alike.
  preScore: (_state, _pod, _nodes, { withSoftTaints }) => (withSoftTaints.size > 0 ? SUCCESS : SKIP),
  score: (_state, pod, { node }) =>
    (node.spec.taints ?? []).filter(
      (taint) => isSoft(taint) && !(pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
    ).length,
  normalize: normalized(true),
}
