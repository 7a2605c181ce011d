import { hostPortsOf, portsClash } from "../../../pkg/pods/host-ports.ts"
import type { OwnPorts } from "../../../pkg/component/own-ports.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { runsOn } from "../../../pkg/api/core/v1/pod/scheduling/node-selection.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { untolerated } from "../../../pkg/api/core/v1/node/taints.ts"
import { isStaticPod } from "../model/labels.ts"
import { shortages, type Shortage } from "./resource-fit.ts"

/** A filter of the scheduler that fails, by the name of its plugin. */
export interface FailedPredicate {
  readonly predicate: string
  readonly why: string
}
export type Failure = FailedPredicate | Shortage

export const isShortage = (failure: Failure): failure is Shortage => "resource" in failure

/**
 * Returns the scheduler's filters that fail for a pod on this node, in upstream's order. The pod may have been bound by
 * another program, or with old data. Source: AdmissionCheck in pkg/scheduler/eventhandlers.go, generalFilter in
 * pkg/kubelet/lifecycle/predicate.go.
 */
export function failures(
  pod: Pod,
  others: readonly Pod[],
  node: Node,
  ownPorts: Pick<OwnPorts, "problemOf">,
): readonly Failure[] {
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
  rule("NodePorts", hasFreePorts(pod, others), NO_FREE_PORTS)
  const own = ownPortProblem(pod, ownPorts)
  rule("NodePorts", own === undefined, `${NO_FREE_PORTS}: ${own}`)
  // Static pods run regardless of taints. Of taints only NoExecute counts here.
  if (!isStaticPod(pod))
    rule(
      "TaintToleration",
      untolerated(node.spec.taints, pod.spec.tolerations, ["NoExecute"]) === undefined,
      "node(s) had taints that the pod didn't tolerate",
    )
  return failed
}

/** Whether only node affinity fails: the labels of the node may have changed a moment ago. */
export const isAffinityAlone = (failed: readonly Failure[]): boolean =>
  failed.length > 0 && failed.every((failure) => !isShortage(failure) && failure.predicate === "NodeAffinity")

const NO_FREE_PORTS = "node(s) didn't have free ports for the requested pod ports"

/** A pod that runs keeps its ports when a part of this program begins to listen there. */
function ownPortProblem(pod: Pod, ownPorts: Pick<OwnPorts, "problemOf">): string | undefined {
  return pod.status.phase === "Running" ? undefined : ownPorts.problemOf(hostPortsOf(pod))
}

function hasFreePorts(pod: Pod, others: readonly Pod[]): boolean {
  const wanted = hostPortsOf(pod)
  return (
    wanted.length === 0 ||
    !others.some((other) => hostPortsOf(other).some((taken) => wanted.some((port) => portsClash(port, taken))))
  )
}
