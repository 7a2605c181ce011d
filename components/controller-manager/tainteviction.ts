import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { type Taint } from "../../pkg/api/core/v1/node/nodespec.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { observed, transitionTime } from "../../pkg/pods/pod-state.ts"
import { podsByNode } from "../../pkg/pods/pods-by-node.ts"
import { tolerates } from "../../pkg/api/core/v1/node/taints.ts"
import { timestamp } from "../../pkg/clock/clock.ts"
import { defineController, watching, type Controller, type ReconcileContext } from "../../pkg/controller/controller.ts"

/** Since when a pod is on a node with taints that it does not tolerate for good, in milliseconds since the epoch. */
interface Waiting {
  readonly uid: string | undefined
  readonly since: number
}

/**
 * Deletes pods from nodes with NoExecute taints that they do not tolerate, or no longer tolerate. Source:
 * pkg/controller/tainteviction. The time that a pod may stay begins when a taint was added, if the taint has that time,
 * or else when it was first seen; a taint that is removed in time has no effect. What was seen is kept in memory while
 * the pod waits.
 */
export function taintEvictionController(): Controller<Pod> {
  const waiting = new Map<string, Waiting>()
  return defineController<Pod>({
    name: "taint-eviction-controller",
    reconciles: Pod,
    concerns: ({ spec }, { informers }) => {
      const node = spec.nodeName ? informers.of(Node).get(spec.nodeName) : undefined
      return node !== undefined && noExecute(node).length > 0
    },
    watches: [
      watching(Node, (node, { informers }, old) => {
        if (old !== undefined && node.spec.taints === old.spec.taints) return []
        if (old === undefined && noExecute(node).length === 0) return []
        return informers
          .of(Pod)
          .by(podsByNode, node.metadata.name ?? "")
          .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
      }),
    ],
    async reconcile(key, context) {
      const { informers, clock } = context
      const pod = informers.of(Pod).get(key)
      const before = waiting.get(key)
      waiting.delete(key)
      if (pod?.spec.nodeName === undefined || pod.spec.nodeName === "" || pod.metadata.deletionTimestamp !== undefined)
        return
      const node = informers.of(Node).get(pod.spec.nodeName)
      const taints = node === undefined ? [] : noExecute(node)
      if (taints.length === 0) return
      const { uid } = pod.metadata
      const since = before !== undefined && before.uid === uid ? before.since : clock.now()
      const due = evictionTime(pod, taints, since)
      if (due === undefined) return
      waiting.set(key, { uid, since })
      if (due > clock.now()) return { requeueAfter: due - clock.now() }
      await evict(pod, context)
    },
  })
}

const noExecute = (node: Node): readonly Taint[] =>
  (node.spec.taints ?? []).filter(({ effect }) => effect === "NoExecute")

/**
 * Returns when the pod must be deleted, in milliseconds since the epoch; undefined when it may stay. For taints without
 * the time of their addition, `seen` is used.
 */
function evictionTime(pod: Pod, taints: readonly Taint[], seen: number): number | undefined {
  let due: number | undefined
  for (const taint of taints) {
    const tolerations = (pod.spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint))
    if (tolerations.length === 0) return seen
    const since = taint.timeAdded === undefined ? seen : Date.parse(taint.timeAdded)
    for (const { tolerationSeconds } of tolerations) {
      if (tolerationSeconds === undefined) continue
      const until = since + Math.max(0, tolerationSeconds) * 1000
      due = due === undefined ? until : Math.min(due, until)
    }
  }
  return due
}

async function evict(pod: Pod, { client, clock, events }: ReconcileContext): Promise<void> {
  events.event(
    pod,
    "Normal",
    "TaintManagerEviction",
    `Marking for deletion Pod ${pod.metadata.namespace}/${pod.metadata.name}`,
  )
  const disruption = {
    type: "DisruptionTarget",
    ...observed(pod),
    status: "True" as const,
    reason: "DeletionByTaintManager",
    message: "Taint manager: deleting due to NoExecute taint",
    lastProbeTime: null,
    lastTransitionTime: transitionTime(pod, "DisruptionTarget", "True", timestamp(clock)),
  }
  try {
    const conditions = [...(pod.status.conditions ?? []).filter(({ type }) => type !== "DisruptionTarget"), disruption]
    await client.updateStatus(Pod, { ...pod, status: { ...pod.status, conditions } })
    await client.delete(
      Pod,
      pod.metadata,
      pod.metadata.uid === undefined ? {} : { preconditions: { uid: pod.metadata.uid } },
    )
  } catch (err) {
    if (!isNotFound(err)) throw err
  }
}
