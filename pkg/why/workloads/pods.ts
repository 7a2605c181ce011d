import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { isPodReady, isPodTerminal, podCondition } from "../../pods/pod-state.ts"
import { parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, type Finding, type ObjectRef } from "../answer.ts"
import { askThrough, isOwnedBy, type Ward } from "../doctor.ts"
import { PODS, refOf } from "../reading/kinds.ts"
import { changedAt, latest, REACTION_MS, within } from "../under-way.ts"
import { workloadOf } from "../workload.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"

/** How many pods of one owner are examined: most fail for the same cause. */
const MOST = 20

/** Returns the pods of a controller. */
export const podsOfOwner = async (owner: KubeObject, { reader }: Ward): Promise<readonly Pod[]> =>
  (await reader.list(PODS, owner.metadata.namespace)).filter((pod) => isOwnedBy(pod, owner))

/** Returns why pods are not ready, each cause once: with the first pod that has it. */
export async function podFindings(pods: readonly Pod[], ward: Ward): Promise<readonly Finding[]> {
  const bad = pods.filter((pod) => !isPodReady(pod) && (!isPodTerminal(pod) || pod.status.phase === "Failed"))
  // Pods that are going away say least about those that are wanted, and those that were replaced less than the others.
  const rank = ({ metadata, status }: Pod) =>
    metadata.deletionTimestamp !== undefined ? 2 : status.phase === "Failed" ? 1 : 0
  const ordered = [...bad, ...pods.filter((pod) => isPodReady(pod))].toSorted((a, b) => rank(a) - rank(b))
  const findings: Finding[] = []
  const counts = new Map<string, number>()
  for (const pod of ordered.slice(0, MOST)) {
    const { findings: found } = await askThrough(ward, refOf(pod))
    const seen = new Set<string>()
    for (const one of found) {
      const { code } = one.cause
      if (seen.has(code)) continue
      seen.add(code)
      counts.set(code, (counts.get(code) ?? 0) + 1)
      if (counts.get(code) === 1) findings.push(one)
    }
  }
  return findings.map((one) => {
    const count = counts.get(one.cause.code) ?? 1
    return count === 1
      ? one
      : { ...one, cause: { ...one.cause, evidence: [`${count} pods have this cause`, ...one.cause.evidence] } }
  })
}

/** Returns that pods are missing which nobody refuses: their controller has not made them yet, or does not run. */
export function notCreated(
  owner: KubeObject,
  count: number,
  wanted: number,
  pods: readonly Pod[],
  { reader }: Ward,
): Finding {
  const one = finding("pods-not-created", `${count} of ${wanted} pods exist; perhaps its controller does not run`, {
    weight: "waiting",
    sure: false,
  })
  return within(one, reader.now, latest([changedAt(owner), ...pods.flatMap(timesOf)]), REACTION_MS)
}

/** When a controller last had to do with a pod: when it was made, when it became ready, and when it went. */
export const timesOf = (pod: Pod): readonly (number | undefined)[] => [
  parseTime(pod.metadata.creationTimestamp ?? ""),
  parseTime(podCondition(pod, "Ready")?.lastTransitionTime ?? ""),
  parseTime(pod.metadata.deletionTimestamp ?? ""),
]

/** Returns a pod by its reference, or the pods of a workload. */
export async function workloadPods(ref: ObjectRef, ward: Ward): Promise<readonly Pod[]> {
  if (ref.kind === PODS.kind) {
    const pod = await ward.reader.get(PODS, ref.namespace, ref.name)
    return pod === undefined ? [] : [pod]
  }
  const found: Pod[] = []
  for (const pod of await ward.reader.list(PODS, ref.namespace))
    if ((await workloadOf(pod, ward)).ref.name === ref.name) found.push(pod)
  return found
}
