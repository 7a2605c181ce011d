import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { observed, transitionTime } from "../../pkg/pods/pod-state.ts"
import type { Client } from "../../pkg/client/client.ts"
import { timestamp, type Clock } from "../../pkg/clock/clock.ts"
import type { SeriesRecorder } from "../../pkg/controller/event-series.ts"
import type { Logger } from "../../pkg/log/log.ts"

export interface EvictionContext {
  readonly client: Client
  readonly clock: Clock
  readonly events: SeriesRecorder
  readonly log: Logger
  /** Name of the scheduler for the victim's condition. */
  readonly name: string
}

/** Whose higher priority makes others leave. */
export interface Preemptor {
  readonly type: "pod" | "podgroup"
  readonly object: KubeObject
}
export const preemptorOf = (pod: Pod): Preemptor => ({ type: "pod", object: pod })

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
  const note = `Preempted by ${preemptor.type} ${preemptor.object.metadata.uid} on node ${node}`
  events.event(victim, "Normal", "Preempted", { action: "Preempting", note, related: preemptor.object })
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
    for: `${preemptor.object.metadata.namespace}/${preemptor.object.metadata.name}`,
    node,
  })
}
