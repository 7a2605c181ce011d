import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { diagnosisMessage, type Diagnosis } from "./framework.ts"
import { makeRoom, preemptorOf } from "./eviction.ts"
import { pluginsOf } from "./plugins/plugins.ts"
import type { Preemption } from "./preemption.ts"
import type { QueuedPod } from "./queued-pod.ts"
import { writeUnschedulable } from "./refusal.ts"
import type { Outcome } from "./schedule-one.ts"
import { podName, type SchedulingContext } from "./scheduling-context.ts"

/** A pod that fits no node, and what preemption can do about it. */
export type Refused = Extract<Outcome, { readonly diagnosis: Diagnosis }> & {
  readonly preemption: Preemption
}

/**
 * Records why the pod fits no node, deletes the pods that preemption has found, has the plugins that refused it give
 * back what keeps it from a node, and queues the pod again. Source: schedule_one.go handleSchedulingFailure.
 */
export async function refuse(
  queued: QueuedPod,
  { diagnosis, plugins: refusing, preemption }: Refused,
  context: SchedulingContext,
): Promise<void> {
  const { events, cycle, log, queue } = context
  const { pod } = queued
  const message = diagnosisMessage(diagnosis, "message" in preemption ? preemption.message : "")
  const node = nominationBy(preemption)
  events.event(pod, "Warning", "FailedScheduling", { action: "Scheduling", note: message })
  try {
    if (node === "") cycle.nominations.remove(pod)
    if ("candidate" in preemption) {
      const { node, victims } = preemption.candidate
      cycle.nominations.nominate(pod, node)
      await makeRoom(victims, node, preemptorOf(pod), context)
    }
    await writeUnschedulable(pod, message, node, context)
    for (const plugin of pluginsOf(cycle.plugins))
      if (plugin.postFilter !== undefined && refusing.has(plugin.name))
        await plugin.postFilter(pod, cycle.cache.list, context)
  } catch (err) {
    if (context.isRunning() && !isNotFound(err))
      log.warn("Failed to preempt pods for a pod, or to write why it was not scheduled", { pod: podName(pod), err })
  }
  if (context.isRunning()) queue.failed(queued, refusing)
}

/** Returns what becomes of a pod's nomination: a node, "" for none, or undefined where it stays what it is. */
const nominationBy = (preemption: Preemption): string | undefined =>
  "candidate" in preemption ? preemption.candidate.node : preemption.keepsNomination ? undefined : ""

/** Records that a plugin failed for the pod, and tries the pod again later. */
export async function fail(queued: QueuedPod, message: string, context: SchedulingContext): Promise<void> {
  const { cycle, events, log, queue } = context
  const { pod } = queued
  cycle.nominations.remove(pod)
  events.event(pod, "Warning", "FailedScheduling", { action: "Scheduling", note: message })
  try {
    await writeUnschedulable(pod, message, "", context, "SchedulerError")
  } catch (err) {
    if (context.isRunning() && !isNotFound(err))
      log.warn("Failed to write why a pod was not scheduled", { pod: podName(pod), err })
  }
  if (context.isRunning()) queue.failed(queued, new Set())
}
