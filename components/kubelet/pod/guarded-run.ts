import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { editionOf } from "../../../pkg/quarantine/edition.ts"
import { skippedBy } from "../../../pkg/quarantine/seam.ts"
import { WAIT_MS } from "../../../pkg/quarantine/quarantine.ts"
import type { KubeletContext } from "../context.ts"

/** How often a pod that is set aside is looked at: an administrator may have freed it. */
const FREED_MS = 60_000

/** Runs what is worked out from a pod, without waiting, and notes the pod meanwhile. */
export type Mark = <T>(work: () => T) => T

/**
 * Runs a step of a pod that runs. A pod that is set aside is left as it is: nothing is started, and its end is not held
 * up.
 *
 * A pod waits for its runtime and its images most of the time, and a server that is killed meanwhile was not ended by
 * the pod. So the pod is noted only while `run` works something out from it, for which it gets a mark: once in each
 * step, because a suspect is acquitted after it.
 */
export async function guardedRun(
  { quarantine, events }: Pick<KubeletContext, "quarantine" | "events">,
  pod: Pod,
  worker: { wakeIn(ms: number): void },
  run: (mark: Mark) => Promise<void>,
): Promise<void> {
  if (quarantine === undefined) return run((work) => work())
  const key = keyFrom(pod.metadata)
  const place = quarantine.place("kubelet")
  const fate = place.fate(key, () => editionOf(pod))
  if (fate === "wait") return worker.wakeIn(WAIT_MS)
  if (fate === "skip") {
    events.event(pod, "Warning", "SetAside", skippedBy("kubelet"))
    return worker.wakeIn(FREED_MS)
  }
  return run((work) => place.while(key, work))
}
