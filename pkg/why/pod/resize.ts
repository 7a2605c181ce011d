import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { RESIZE_CONDITIONS } from "../../api/core/v1/pod/resources/in-force.ts"
import { podCondition } from "../../pods/pod-state.ts"
import { finding, type Finding } from "../answer.ts"

/** Returns that the node does not give a running pod what its spec asks for now. */
export function resizeFindings(pod: Pod): readonly Finding[] {
  const pending = podCondition(pod, RESIZE_CONDITIONS.pending)
  const going = podCondition(pod, RESIZE_CONDITIONS.inProgress)
  if (pending?.status === "True") {
    const isImpossible = pending.reason === "Infeasible"
    return [
      finding(
        isImpossible ? "resize-infeasible" : "resize-deferred",
        `it runs with its former resources: node ${pod.spec.nodeName ?? ""} ` +
          `${isImpossible ? "can never give" : "cannot give now"} what it asks for: ${pending.message ?? pending.reason ?? ""}`,
        {
          weight: isImpossible ? "broken" : "waiting",
          hints: [isImpossible ? "ask for less, or make the pod anew on a larger node" : "other pods there must end"],
        },
      ),
    ]
  }
  if (going?.status === "True" && going.reason === "Error")
    return [finding("resize-failed", `its resources cannot be changed: ${going.message ?? ""}`)]
  return []
}
