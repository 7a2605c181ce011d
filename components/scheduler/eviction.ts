import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { observed, transitionTime } from "../../pkg/pods/pod-state.ts"
import type { Client } from "../../pkg/client/client.ts"
import { timestamp, type Clock } from "../../pkg/clock/clock.ts"
import type { SeriesRecorder } from "../../pkg/controller/event-series.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Nominations } from "./nominations.ts"
import { writeNomination } from "./write-nomination.ts"

export interface EvictionContext {
  readonly client: Client
  readonly clock: Clock
  readonly events: SeriesRecorder
  readonly log: Logger
  /** Name of the scheduler for the victim's condition. */
  readonly name: string
  readonly cycle: { readonly nominations: Nominations }
}

/** Whose higher priority makes others leave. */
export interface Preemptor {
  readonly type: "pod" | "podgroup"
  readonly object: KubeObject
  readonly priority: number
}
export const preemptorOf = (pod: Pod): Preemptor => ({ type: "pod", object: pod, priority: pod.spec.priority ?? 0 })

/**
 * Deletes the victims on `node`. Pods of lower priority that are nominated to the node may fit it no longer, so they
 * are not nominated any more and are tried again at once; where all victims are ending already nothing is written.
 * Source: framework/preemption executor.go prepareCandidateAsync.
 */
export async function makeRoom(
  victims: readonly Pod[],
  node: string,
  preemptor: Preemptor,
  context: EvictionContext,
): Promise<void> {
  const left = victims.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  if (left.length === 0) return
  for (const pod of context.cycle.nominations.of({ name: node }) ?? [])
    if ((pod.spec.priority ?? 0) < preemptor.priority && pod.status.nominatedNodeName)
      // The informer then takes the nomination from the scheduler's own list.
      await writeNomination(pod, null, context)
  for (const victim of left) await evictVictim(victim, preemptor, node, context)
}

/**
 * Deletes a pod on `node` to make room for a pod of higher priority, and records that in the victim's conditions and
 * Events. A victim that is gone is left alone. Source: framework/preemption executor.go PreemptPod.
 */
async function evictVictim(victim: Pod, preemptor: Preemptor, node: string, context: EvictionContext): Promise<void> {
  const { client, clock, events, log, name } = context
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
