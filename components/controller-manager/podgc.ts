import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { isPodTerminal, observed, transitionTime } from "../../pkg/pods/pod-state.ts"
import { podsByNode } from "../../pkg/pods/pods-by-node.ts"
import { TAINT } from "../../pkg/api/core/v1/node/taints.ts"
import type { Informers } from "../../pkg/client/informer.ts"
import { timestamp } from "../../pkg/clock/clock.ts"
import { defineController, watching, type Controller, type ReconcileContext } from "../../pkg/controller/controller.ts"
import { MissingNodes } from "./missing-nodes.ts"

/** Most ended pods that are kept, for their logs. Source: --terminated-pod-gc-threshold. */
const KEPT_TERMINATED = 12_500

/**
 * Deletes pods that no kubelet will delete: on nodes that are gone or out of service, deleted before they were
 * scheduled, and the oldest of too many ended pods. Source: pkg/controller/podgc/gc_controller.go. Differs from
 * upstream: it runs on events of pods and nodes, not every 20 seconds. `kept` is how many ended pods stay; 0 for all.
 */
export const podGarbageCollector = (kept = KEPT_TERMINATED): Controller<Pod> => {
  const missing = new MissingNodes()
  return defineController<Pod>({
    name: "pod-garbage-collector-controller",
    reconciles: Pod,
    concerns: (pod, { informers }) =>
      pod.metadata.deletionTimestamp !== undefined ||
      (isPodTerminal(pod) && tooManyEnded(informers, kept)) ||
      (pod.spec.nodeName !== undefined &&
        pod.spec.nodeName !== "" &&
        informers.of(Node).get(pod.spec.nodeName) === undefined),
    watches: [
      watching(Node, ({ metadata, spec }, { informers }, _old, deleted) => {
        if (!deleted && !(spec.taints ?? []).some(({ key }) => key === TAINT.outOfService)) return []
        return informers
          .of(Pod)
          .by(podsByNode, metadata.name ?? "")
          .map((pod) => `${pod.metadata.namespace}/${pod.metadata.name}`)
      }),
    ],
    async reconcile(key, context) {
      const { informers } = context
      const pod = informers.of(Pod).get(key)
      if (pod === undefined) {
        missing.forget(key)
        return
      }
      const terminating = pod.metadata.deletionTimestamp !== undefined
      if (!pod.spec.nodeName) {
        if (terminating) await remove(pod, undefined, context) // no kubelet will ever report its end
        return
      }
      const node = informers.of(Node).get(pod.spec.nodeName)
      if (node === undefined) {
        const left = missing.wait(key, context.clock.monotonic())
        if (left !== undefined) return { requeueAfter: left }
        await remove(pod, "PodGC: node no longer exists", context)
        missing.forget(key)
        return
      }
      missing.forget(key)
      const outOfService = (node.spec.taints ?? []).some(({ key: taint }) => taint === TAINT.outOfService)
      const ready = node.status.conditions?.find(({ type }) => type === "Ready")?.status === "True"
      if (terminating && outOfService && !ready) return remove(pod, "PodGC: node is out of service", context)
      if (isPodTerminal(pod) && tooManyEnded(informers, kept)) await trimTerminated(context, kept)
    },
  })
}

/**
 * Deletes a pod after setting its phase to Failed, which no kubelet will do and which Jobs count. Source:
 * markFailedAndDeletePod.
 */
async function remove(pod: Pod, why: string | undefined, { client, clock }: ReconcileContext): Promise<void> {
  try {
    if (!isPodTerminal(pod)) {
      const disruption = {
        type: "DisruptionTarget",
        ...observed(pod),
        status: "True" as const,
        reason: "DeletionByPodGC",
        message: why,
        lastTransitionTime: transitionTime(pod, "DisruptionTarget", "True", timestamp(clock)),
      }
      const status = { phase: "Failed", ...observed(pod), ...(why === undefined ? {} : { conditions: [disruption] }) }
      await client.patch(
        Pod,
        pod.metadata,
        { type: "strategic", body: { metadata: { uid: pod.metadata.uid }, status } },
        { subresource: "status" },
      )
    }
    await client.delete(Pod, pod.metadata, {
      gracePeriodSeconds: 0,
      ...(pod.metadata.uid === undefined ? {} : { preconditions: { uid: pod.metadata.uid } }),
    })
  } catch (err) {
    if (!isNotFound(err)) throw err
  }
}

const tooManyEnded = (informers: Informers, kept: number): boolean =>
  kept > 0 && informers.of(Pod).by(terminated, "").length > kept

async function trimTerminated(context: ReconcileContext, kept: number): Promise<void> {
  const ended = context.informers.of(Pod).by(terminated, "")
  const oldest = [...ended]
    .sort((a, b) => ((a.metadata.creationTimestamp ?? "") < (b.metadata.creationTimestamp ?? "") ? -1 : 1))
    .slice(0, ended.length - kept)
  for (const pod of oldest) await remove(pod, undefined, context)
}

const terminated = { name: "terminated", of: (pod: Pod): readonly string[] => (isPodTerminal(pod) ? [""] : []) }
