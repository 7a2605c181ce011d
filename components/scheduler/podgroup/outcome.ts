import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { makeRoom, type Preemptor } from "../eviction.ts"
import { diagnosisMessage } from "../framework.ts"
import type { PodGroupTools } from "../pod-groups.ts"
import type { Profile } from "../profile.ts"
import type { QueuedPod } from "../queued-pod.ts"
import { writeUnschedulable } from "../refusal.ts"
import { podName } from "../scheduling-context.ts"
import type { Found, Trial } from "./trial.ts"

/** Source: errPodGroupUnschedulable, and the plugin's Permit. */
export const UNSCHEDULABLE = "pod group is unschedulable"
export const WAITS_FOR_OTHERS = `${UNSCHEDULABLE}, waiting for minCount pods from a gang to be scheduled`
export const WAITS_FOR_VICTIMS = `${UNSCHEDULABLE}, pod group is waiting for preemption to complete`

/** What is written about a pod that gets no node now. */
export interface Refusal {
  readonly queued: QueuedPod
  readonly message: string
  /** The plugins whose events may change that; none for a failure, after which the pod is tried again. */
  readonly plugins: ReadonlySet<string>
  /** The node on which preemption makes room for it, "" for none; undefined leaves its nomination as it is. */
  readonly nominated: string | undefined
  readonly reason?: "SchedulerError"
}

/** Records why a pod of a group gets no node, and queues it again. Source: handleSchedulingFailure. */
export async function refuseMember(
  refusal: Refusal,
  { context }: Profile,
  { nominations }: PodGroupTools,
): Promise<void> {
  const { events, log, queue, observer, name, isRunning } = context
  const { queued, message, plugins, nominated, reason } = refusal
  const { pod } = queued
  observer?.attempted(reason === undefined ? "unschedulable" : "error", 0, name)
  if (nominated) nominations.nominate(pod, nominated)
  else if (nominated === "") nominations.remove(pod)
  events.event(pod, "Warning", "FailedScheduling", { action: "Scheduling", note: message })
  try {
    await writeUnschedulable(pod, message, nominated, context, reason)
  } catch (err) {
    if (isRunning() && !isNotFound(err))
      log.warn("Failed to write why a pod was not scheduled", { pod: podName(pod), err })
  }
  if (isRunning()) queue.failed(queued, plugins)
}

/** Deletes the pods that make room for a group. Resolves when all are deleted, or one could not be. */
export async function evictAll(
  victims: readonly (readonly [victim: Pod, node: string])[],
  preemptor: Preemptor,
  { context }: Profile,
): Promise<void> {
  try {
    for (const [node, onNode] of Map.groupBy(victims, ([, node]) => node))
      await makeRoom(
        onNode.map(([victim]) => victim),
        node,
        preemptor,
        context,
      )
  } catch (err) {
    if (context.isRunning()) context.log.warn("Failed to preempt pods for a pod group", { err })
  }
}

/** Returns the plugins whose events may help a group of which these pods were refused. */
export const awaited = (found: readonly Found[], own: string): ReadonlySet<string> =>
  new Set([own, ...found.flatMap((each) => ("refused" in each ? [...each.refused.plugins] : []))])

/**
 * Returns what is written about each pod of a group that does not fit, or that waits until its victims are gone.
 * @param waits whether the group fits when the victims are gone
 */
export function refusalsOf(
  waiting: readonly QueuedPod[],
  { found, error }: Trial,
  waits: boolean,
  own: string,
): readonly Refusal[] {
  const plugins = awaited(found, own)
  return waiting.map((queued, i): Refusal => {
    if (error !== undefined)
      return {
        queued,
        message: i === found.length ? error : `failed to schedule other pod from a pod group: ${error}`,
        plugins: new Set(),
        nominated: "",
        reason: "SchedulerError",
      }
    const each = found[i]
    if (each === undefined) return { queued, message: UNSCHEDULABLE, plugins, nominated: "" }
    if ("node" in each)
      return waits
        ? { queued, message: WAITS_FOR_VICTIMS, plugins, nominated: each.node }
        : { queued, message: WAITS_FOR_OTHERS, plugins, nominated: "" }
    const { diagnosis, preemption } = each.refused
    if (!("candidate" in each))
      return {
        queued,
        message: diagnosisMessage(diagnosis, "message" in preemption ? preemption.message : ""),
        plugins,
        nominated: "message" in preemption && preemption.keepsNomination ? undefined : "",
      }
    return waits
      ? { queued, message: diagnosisMessage(diagnosis, ""), plugins, nominated: each.candidate.node }
      : { queued, message: WAITS_FOR_OTHERS, plugins, nominated: "" }
  })
}
