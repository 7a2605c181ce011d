import type { DaemonSet, Node, Pod } from "../../../components/cluster/testing/testing.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { isPodActive, isPodAvailable } from "../../../pkg/pods/pod-state.ts"
import { keptOffBy } from "../fits.ts"
import { nameOf } from "../world.ts"
import { resolved } from "./rollouts.ts"
import { isBy, type WriteInvariant } from "./write.ts"

/**
 * A DaemonSet has at most one active pod on a node, and a second one only where a rollout has maxSurge; and a rollout
 * deletes no available pod while maxUnavailable nodes are without one. Source: daemon/update.go rollingUpdate.
 */
export const keepsOneOnEachNode: WriteInvariant = (write, seen) => {
  const { object, previous, type } = write
  if (object.kind !== "Pod" || !isBy(write, "daemon-set-controller")) return []
  const uid = controllerOf(object)?.uid
  const sets = seen.recent<DaemonSet>("DaemonSet", uid)
  if (sets.length === 0) return []
  const pods = seen.all<Pod>("Pod").filter((pod) => controllerOf(pod)?.uid === uid)
  const pod = object as Pod
  const name = nameOf(sets.at(-1)!)
  const surges = sets.some(({ spec }) => resolved(spec.updateStrategy?.rollingUpdate?.maxSurge, 100, "up") > 0)
  if (type === "create") {
    const mine = pods.filter((one) => isPodActive(one) && targetOf(one) === targetOf(pod))
    const most = surges ? 2 : 1
    return mine.length > most ? [`${name} has ${mine.length} pods on ${targetOf(pod)}`] : []
  }
  const before = previous as Pod | undefined
  const isDeleted = pod.metadata.deletionTimestamp !== undefined && before?.metadata.deletionTimestamp === undefined
  if (!isDeleted || before === undefined) return []
  const isAvailable = (one: Pod) =>
    isPodActive(one) && isPodAvailable(one, sets.at(-1)!.spec.minReadySeconds ?? 0, seen.now)
  // A pod on a node where the DaemonSet has no business any more goes in any case, as do all but one on a node.
  const nodes = seen.all<Node>("Node")
  // What the next pod tolerates decides, with what the controller adds to every pod.
  const added = (pod.spec.tolerations ?? []).filter(({ key = "" }) => key.startsWith("node.kubernetes.io/"))
  const successors = sets.map(({ spec: { template } }): Pod => {
    const tolerations = [...(template?.spec?.tolerations ?? []), ...added]
    return { ...pod, spec: { ...pod.spec, tolerations } }
  })
  // NoSchedule is a reason only with maxSurge, where an old pod would wait for one that cannot come.
  const isReason = (taint: string) => surges || taint.endsWith(":NoExecute")
  const isWanted = nodes.some(
    ({ metadata }) =>
      metadata.name === targetOf(pod) &&
      seen
        .recent<Node>("Node", metadata.uid)
        .every((node) => successors.every((one) => !keptOffBy(one, node).some(isReason))),
  )
  const hasOther = pods.some(
    (one) => one.metadata.uid !== pod.metadata.uid && isPodActive(one) && targetOf(one) === targetOf(pod),
  )
  if (!isWanted || hasOther || !isAvailable(before)) return []
  const wanted = nodes.length
  const most = Math.max(
    ...sets.map(({ spec }) => {
      const { maxUnavailable = 1, maxSurge = 0 } = spec.updateStrategy?.rollingUpdate ?? {}
      return resolved(maxSurge, wanted, "up") > 0 ? 0 : Math.max(1, resolved(maxUnavailable, wanted, "up"))
    }),
  )
  // Another node that may not have a new pod, by any taint, is none of those that a rollout counts once it is empty.
  const counts = (node: Node) =>
    node.metadata.name === targetOf(pod) ||
    seen
      .recent<Node>("Node", node.metadata.uid)
      .every((one) => successors.every((next) => !keptOffBy(next, one).length))
  // Nodes whose pods the controller has taken away, and not those that it may not have seen ending.
  const known = pods.flatMap(({ metadata }) => seen.sure<Pod>("Pod", metadata.uid, write.author) ?? [])
  const taken = nodes.filter(
    (node) =>
      counts(node) &&
      known.some((one) => targetOf(one) === node.metadata.name && one.metadata.deletionTimestamp !== undefined) &&
      !pods.some((one) => targetOf(one) === node.metadata.name && isPodActive(one)),
  )
  return taken.length > most
    ? [`${name} takes ${pod.metadata.name} away, and then ${taken.length} nodes have none, of at most ${most}`]
    : []
}

/** Returns the node that a pod of a DaemonSet is for, also before it is bound. */
const targetOf = ({ spec }: Pod): string | undefined =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]?.matchFields?.[0]
    ?.values?.[0] ?? spec.nodeName
