import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodTerminal, observed, podCondition } from "../../../pkg/pods/pod-state.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { defineController } from "../../../pkg/controller/controller.ts"

/** Source: stalePodDisruptionTimeout. */
const STALE_AFTER_MS = 120_000

/**
 * Sets the condition DisruptionTarget to False for a pod that was not deleted within two minutes. Source:
 * syncStalePodDisruption in pkg/controller/disruption.
 */
export const staleDisruptionTargets = defineController<Pod>({
  name: "disruption-controller",
  reconciles: Pod,
  concerns: (pod) => podCondition(pod, "DisruptionTarget") !== undefined,
  async reconcile(key, { informers, client, clock }) {
    const pod = informers.of(Pod).get(key)
    const target = pod === undefined ? undefined : podCondition(pod, "DisruptionTarget")
    if (pod === undefined || target?.status !== "True" || !target.lastTransitionTime) return
    // A kubelet may take any time from setting the condition to ending the pod.
    if (pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod) || target.reason === "TerminationByKubelet")
      return
    const left = Date.parse(target.lastTransitionTime) + STALE_AFTER_MS - clock.now()
    if (left > 0) return { requeueAfter: left }
    const condition = {
      type: "DisruptionTarget",
      ...observed(pod),
      status: "False",
      lastTransitionTime: timestamp(clock),
    } as const
    const conditions = (pod.status.conditions ?? []).map((one) => (one.type === condition.type ? condition : one))
    await client.updateStatus(Pod, { ...pod, status: { ...pod.status, conditions } }).catch((err: unknown) => {
      if (!isNotFound(err)) throw err
    })
  },
})
