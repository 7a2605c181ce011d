import type { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import { isPodAvailable, isPodReady } from "../../../pkg/pods/pod-state.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import type { FailedPodBackoff } from "./failed-pods.ts"
import { placementOn } from "./placement.ts"
import { hashOf, surges } from "./rolling.ts"
import type { Plan, Daemons } from "./plan.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"

/**
 * Sorts pods on a node before pods without one, and each of these groups by age, the oldest first. Source:
 * podByCreationTimestampAndPhase.
 */
export const byAge = (a: Pod, b: Pod): number => {
  const key = ({ metadata, spec }: Pod): string =>
    `${spec.nodeName ? 0 : 1} ${metadata.creationTimestamp ?? ""} ${metadata.name}`
  return key(a) < key(b) ? -1 : 1
}

/**
 * Plans one pod on each node that should have one, and none elsewhere. Source: manage and podsShouldBeOnNode in
 * pkg/controller/daemon/daemon_controller.go.
 */
export function planPods(
  { set, hash, nodes, podsOn }: Daemons,
  failed: FailedPodBackoff,
  context: ReconcileContext,
): Plan {
  const remove: Pod[] = []
  const create: string[] = []
  let retryIn: number | undefined
  for (const node of nodes) {
    const name = node.metadata.name ?? ""
    const { run, stay } = placementOn(node, set)
    const pods = podsOn.get(name)
    const going = (pods ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    if (run && pods === undefined) create.push(name)
    else if (!stay) pushAll(remove, going)
    else {
      let held = false
      const running = going.filter(({ status: { phase } }) => phase !== "Failed" && phase !== "Succeeded")
      for (const pod of going.filter(({ status: { phase } }) => phase === "Failed" || phase === "Succeeded")) {
        const wait = pod.status.phase === "Failed" ? failed.wait(set, name) : 0
        held ||= wait > 0
        if (wait > 0) retryIn = Math.min(wait, retryIn ?? wait)
        else {
          tellEnded(set, pod, name, context)
          remove.push(pod)
        }
      }
      if (!surges(set)) pushAll(remove, running.toSorted(byAge).slice(1))
      else if (running.length === 0 && run) {
        // Differs from upstream: while a failed pod waits to be replaced, no other pod is created for its node, because
        // that pod would fail too.
        if (!held) create.push(name)
      } else pushAll(remove, surplus(set, running.toSorted(byAge), hash, context.clock.now()))
    }
  }
  // The scheduler would wait for ever for a deleted node.
  const known = new Set(nodes.map(({ metadata }) => metadata.name))
  for (const [name, pods] of podsOn)
    if (!known.has(name))
      pushAll(
        remove,
        pods.filter(({ spec, metadata }) => !spec.nodeName && metadata.deletionTimestamp === undefined),
      )
  return { remove, create, retryIn }
}

function tellEnded(set: DaemonSet, { metadata, status }: Pod, node: string, { events }: ReconcileContext): void {
  const name = `${metadata.namespace}/${metadata.name}`
  if (status.phase === "Failed")
    events.event(
      set,
      "Warning",
      "FailedDaemonPod",
      `Found failed daemon pod ${name} on node ${node}, will try to kill it`,
    )
  else
    events.event(
      set,
      "Normal",
      "SucceededDaemonPod",
      `Found succeeded daemon pod ${name} on node ${node}, will try to delete it`,
    )
}

/** With maxSurge an old pod may stay beside the new one until the new one is available or the old one is not ready. */
function surplus(set: DaemonSet, pods: readonly Pod[], hash: string, now: number): readonly Pod[] {
  const newest = pods.find((pod) => hashOf(pod) === hash)
  const old = pods.find((pod) => hashOf(pod) !== hash)
  const others = pods.filter((pod) => pod !== newest && pod !== old)
  if (newest === undefined || old === undefined) return others
  return !isPodReady(old) || isPodAvailable(newest, set.spec.minReadySeconds ?? 0, now) ? [...others, old] : others
}
