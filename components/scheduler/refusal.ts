import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { observed, podCondition } from "../../pkg/pods/pod-state.ts"
import type { Client } from "../../pkg/client/client.ts"
import { timestamp, type Clock } from "../../pkg/clock/clock.ts"

/**
 * Writes into a pod's status why no node was found: condition PodScheduled False. `nominated` is the node on which
 * preemption makes room, "" where no room is made any more; undefined leaves the nomination as it is. Writes nothing
 * where the status says so already.
 * Source: schedule_one.go handleSchedulingFailure, updatePod.
 */
export async function writeUnschedulable(
  pod: Pod,
  message: string,
  nominated: string | undefined,
  { client, clock }: { readonly client: Client; readonly clock: Clock },
  reason: "Unschedulable" | "SchedulerError" = "Unschedulable",
): Promise<void> {
  const before = podCondition(pod, "PodScheduled")
  const isWritten =
    before?.status === "False" &&
    before.reason === reason &&
    before.message === message &&
    before.observedGeneration === observed(pod)?.observedGeneration
  if (isWritten && (nominated === undefined || (pod.status.nominatedNodeName ?? "") === nominated)) return
  const condition = {
    type: "PodScheduled",
    ...observed(pod),
    status: "False",
    reason,
    message,
    lastTransitionTime: before?.status === "False" ? before.lastTransitionTime : timestamp(clock),
  }
  const status = {
    conditions: [condition],
    ...(nominated === undefined ? {} : { nominatedNodeName: nominated || null }),
  }
  const body = { metadata: { uid: pod.metadata.uid }, status }
  await client.patch(Pod, pod.metadata, { type: "strategic", body }, { subresource: "status" })
}
