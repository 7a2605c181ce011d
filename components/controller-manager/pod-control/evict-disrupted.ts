import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { observed, transitionTime } from "../../../pkg/pods/pod-state.ts"

/** Why a pod is deleted, as its condition DisruptionTarget says. */
export interface Disruption {
  readonly reason: string
  readonly message: string
}

/**
 * Deletes a pod that must leave its node, after its status has said why: Jobs and budgets read the condition
 * DisruptionTarget. The pod is read anew, since its kubelet may have written that condition a moment ago. A pod of the
 * same name that came later is kept. Source: addConditionAndDeletePod of pkg/controller/tainteviction and
 * pkg/controller/devicetainteviction.
 */
export async function evictDisrupted(
  { metadata }: Pod,
  { reason, message }: Disruption,
  { client, clock }: Pick<ReconcileContext, "client" | "clock">,
): Promise<void> {
  const { uid } = metadata
  try {
    const pod = await client.get(Pod, metadata)
    if (pod.metadata.uid !== uid) return
    const disruption = {
      type: "DisruptionTarget",
      ...observed(pod),
      status: "True" as const,
      reason,
      message,
      lastProbeTime: null,
      lastTransitionTime: transitionTime(pod, "DisruptionTarget", "True", timestamp(clock)),
    }
    await client.patch(
      Pod,
      metadata,
      { type: "strategic", body: { metadata: { uid }, status: { conditions: [disruption] } } },
      { subresource: "status" },
    )
    await client.delete(Pod, metadata, uid === undefined ? {} : { preconditions: { uid } })
  } catch (err) {
    if (!isNotFound(err)) throw err
  }
}
