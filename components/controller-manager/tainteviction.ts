import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { type Taint } from "../../pkg/api/core/v1/node/nodespec.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { podsByNode } from "../../pkg/pods/pods-by-node.ts"
import { tolerates } from "../../pkg/api/core/v1/node/taints.ts"
import { defineController, watching, type Controller, type ReconcileContext } from "../../pkg/controller/controller.ts"
import { evictDisrupted } from "./pod-control/evict-disrupted.ts"

/** A pod that is to be deleted. */
interface Scheduled {
  readonly pod: Pod
  /** In milliseconds since the epoch. */
  readonly due: number
  /** Whether it was to stay for some time. */
  readonly isTimed: boolean
}

/**
 * Deletes pods from nodes with NoExecute taints that they do not tolerate, or no longer tolerate. Source:
 * pkg/controller/tainteviction. The time that a pod may stay begins when its node is first seen with such a taint, and
 * is kept until all taints are gone or tolerated for good: a taint that takes the place of another changes nothing.
 */
export function taintEvictionController(): Controller<Pod> {
  const scheduled = new Map<string, Scheduled>()
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
      const known = scheduled.get(key)
      const before = known !== undefined && known.pod.metadata.uid === pod?.metadata.uid ? known : undefined
      const cancel = (one: Scheduled | undefined): void => {
        scheduled.delete(key)
        if (one?.isTimed === true) tell(one.pod, "Cancelling deletion of", context)
      }
      if (known !== before) cancel(known)
      if (pod?.spec.nodeName === undefined || pod.spec.nodeName === "") return
      if (pod.metadata.deletionTimestamp !== undefined) return void scheduled.delete(key)
      const node = informers.of(Node).get(pod.spec.nodeName)
      const stays = node === undefined ? Infinity : staysFor(pod, noExecute(node))
      if (stays === Infinity) return cancel(before)
      const now = clock.now()
      if (stays === undefined) cancel(before)
      const isTimed = stays !== undefined
      const due = isTimed ? (before?.due ?? now + stays) : now
      scheduled.set(key, { pod, due, isTimed })
      if (due > now) return { requeueAfter: due - now }
      await evict(pod, context)
      scheduled.delete(key)
    },
  })
}

const noExecute = (node: Node): readonly Taint[] =>
  (node.spec.taints ?? []).filter(({ effect }) => effect === "NoExecute")

/**
 * Returns for how many milliseconds the pod may stay, Infinity for ever; undefined when it does not tolerate a taint.
 * For each taint the first toleration counts. Source: getMinTolerationTime, GetMatchingTolerations.
 */
function staysFor(pod: Pod, taints: readonly Taint[]): number | undefined {
  let stays = Infinity
  for (const taint of taints) {
    const toleration = pod.spec.tolerations?.find((one) => tolerates(one, taint))
    if (toleration === undefined) return undefined
    const { tolerationSeconds } = toleration
    if (tolerationSeconds !== undefined) stays = Math.min(stays, Math.max(0, tolerationSeconds) * 1000)
  }
  return stays
}

function tell(pod: Pod, what: string, { events }: Pick<ReconcileContext, "events">): void {
  events.event(pod, "Normal", "TaintManagerEviction", `${what} Pod ${pod.metadata.namespace}/${pod.metadata.name}`)
}

async function evict(pod: Pod, context: ReconcileContext): Promise<void> {
  tell(pod, "Marking for deletion", context)
  await evictDisrupted(pod, DISRUPTION, context)
}

const DISRUPTION = {
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
}
