import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { observed, transitionTime } from "../../pkg/pods/pod-state.ts"
import type { Client } from "../../pkg/client/client.ts"
import { timestamp, type Clock } from "../../pkg/clock/clock.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"
import type { Logger } from "../../pkg/log/log.ts"

export interface EvictionContext {
  readonly client: Client
  readonly clock: Clock
  readonly events: EventRecorder
  readonly log: Logger
  /** Name of the scheduler for the victim's condition. */
  readonly name: string
}

/** Whose higher priority makes others leave. */
export interface Preemptor {
  readonly type: "pod" | "podgroup"
  readonly uid: string | undefined
  /** `<namespace>/<name>`, for the log. */
  readonly name: string
}
export const preemptorOf = ({ metadata }: Pod): Preemptor => ({
  type: "pod",
  uid: metadata.uid,
  name: `${metadata.namespace}/${metadata.name}`,
})

/**
 * Deletes a pod on `node` to make room for a pod of higher priority, and records that in the victim's conditions and
 * Events. A victim that is gone or being deleted is left alone. Source: framework/preemption executor.go PreemptPod.
 */
export async function evictVictim(
  victim: Pod,
  preemptor: Preemptor,
  node: string,
  context: EvictionContext,
): Promise<void> {
  const { client, clock, events, log, name } = context
  if (victim.metadata.deletionTimestamp !== undefined) return
  events.event(victim, "Normal", "Preempted", `Preempted by ${preemptor.type} ${preemptor.uid} on node ${node}`)
  const condition = {
    type: "DisruptionTarget",
    ...observed(victim),
    status: "True",
    reason: "PreemptionByScheduler",
    message: `${name}: preempting to accommodate a higher priority ${preemptor.type}`,
    lastTransitionTime: transitionTime(victim, "DisruptionTarget", "True", timestamp(clock)),
  }
  const { uid } = victim.metadata
  try {
    const body = { status: { conditions: [condition] } }
    await client.patch(Pod, victim.metadata, { type: "strategic", body }, { subresource: "status" })
    await client.delete(Pod, victim.metadata, uid === undefined ? {} : { preconditions: { uid } })
  } catch (err) {
    if (isNotFound(err)) return
    throw err
  }
  log.info("Preempted pod", {
    victim: `${victim.metadata.namespace}/${victim.metadata.name}`,
    for: preemptor.name,
    node,
  })
}
