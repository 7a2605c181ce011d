import { hostPortsOf, portsClash } from "../../../pkg/pods/host-ports.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { runsOn } from "../../../pkg/api/core/v1/pod/node-selection.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { untolerated } from "../../../pkg/api/core/v1/node/taints.ts"
import { isStaticPod } from "../pod/labels.ts"
import { shortages, type Shortage } from "./resource-fit.ts"

/** A rule of the scheduler's that does not hold, by the name of its plugin. */
export interface FailedPredicate {
  readonly predicate: string
  readonly why: string
}
export type Failure = FailedPredicate | Shortage

export const isShortage = (failure: Failure): failure is Shortage => "resource" in failure

/**
 * The scheduler's rules that a kubelet holds a pod to once more, all that fail, in upstream's order: whoever bound the
 * pod may not have known them, or known less. Source: AdmissionCheck in pkg/scheduler/eventhandlers.go, generalFilter
 * in pkg/kubelet/lifecycle/predicate.go.
 */
export function failures(pod: Pod, others: readonly Pod[], node: Node): readonly Failure[] {
  const failed: Failure[] = [...shortages(pod, others, node)]
  const rule = (predicate: string, holds: boolean, why: string) => {
    if (!holds) failed.push({ predicate, why })
  }
  const { nodeName } = pod.spec
  rule("NodeAffinity", runsOn(pod.spec, node), "node(s) didn't match Pod's node affinity/selector")
  rule(
    "NodeName",
    nodeName === undefined || nodeName === "" || nodeName === node.metadata.name,
    "node(s) didn't match the requested node name",
  )
  rule("NodePorts", hasFreePorts(pod, others), "node(s) didn't have free ports for the requested pod ports")
  // What the node must have at any rate comes as a static pod. Of taints only those count that would drive the pod away
  // at once.
  if (!isStaticPod(pod))
    rule(
      "TaintToleration",
      untolerated(node.spec.taints, pod.spec.tolerations, ["NoExecute"]) === undefined,
      "node(s) had taints that the pod didn't tolerate",
    )
  return failed
}

/** Whether the only thing that fails is what may have changed on the node's labels a moment ago. */
export const isAffinityAlone = (failed: readonly Failure[]): boolean =>
  failed.length > 0 && failed.every((failure) => !isShortage(failure) && failure.predicate === "NodeAffinity")

function hasFreePorts(pod: Pod, others: readonly Pod[]): boolean {
  const wanted = hostPortsOf(pod)
  return (
    wanted.length === 0 ||
    !others.some((other) => hostPortsOf(other).some((taken) => wanted.some((port) => portsClash(port, taken))))
  )
}
