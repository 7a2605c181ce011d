import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { groupOf } from "../../../pkg/pods/pods-by-group.ts"
import type { Preemptor } from "../eviction.ts"
import type { PodGroupTools } from "../pod-groups.ts"
import { byBudget } from "../preemption.ts"
import { UNSCHEDULABLE } from "./outcome.ts"
import { topologyKeyOf } from "./placements.ts"
import { tryGroup, type TrialOptions } from "./trial.ts"

/** Pods that are preempted together: those of a group with the disruption mode PodGroup, or a single one. */
interface Victim {
  readonly pods: readonly Pod[]
  readonly priority: number
  readonly isOfGroup: boolean
  /** When the first of the pods started. */
  readonly started: string
}

/** Whose end makes room for a group. */
export interface Room {
  readonly victims: readonly (readonly [victim: Pod, node: string])[]
  readonly preemptor: Preemptor
}

/**
 * Finds pods and groups of lower priority, anywhere in the cluster, without which the group fits: all of them are taken
 * away, and then as many left as can be, first those that a disruption budget protects and the most important ones.
 * Source: framework/preemption/podgrouppreemption.go. Differs from upstream: victims are given back in halves, which
 * finds the same ones with fewer trials where most can stay.
 */
export function preemptForGroup(
  tools: PodGroupTools,
  group: PodGroup,
  options: TrialOptions,
): Room | { readonly message: string } {
  const { cache, informers } = tools
  if (options.profile.context.cycle.preemption === undefined)
    return { message: "default preemption plugin is not registered, workload aware preemption is disabled" }
  if (topologyKeyOf(group) !== undefined)
    return { message: "workload aware preemption is not supported for pod groups with scheduling constraints" }
  if (options.waiting.some(({ pod }) => pod.spec.preemptionPolicy === "Never"))
    return { message: "not eligible due to preemptionPolicy=Never." }
  const priority = group.spec.priority ?? 0
  const possible = victimsIn(tools)
    .filter((victim) => victim.priority < priority)
    .sort(moreImportant)
  if (possible.length === 0) return { message: "No preemption victims found for incoming preemptor" }
  const nodes = new Map(possible.flatMap(({ pods }) => pods.map((pod) => [pod, cache.nodeOf(pod)!] as const)))
  const fitsWithout = (gone: ReadonlySet<Victim>): boolean => {
    const pods = [...gone].flatMap((victim) => victim.pods)
    const assumed = new Set(pods.filter((pod) => cache.isAssumed(pod)))
    for (const pod of pods) cache.forget(pod)
    const trial = tryGroup(tools, options)
    trial.revert()
    for (const pod of pods)
      if (assumed.has(pod)) cache.assume(pod, nodes.get(pod)!)
      else cache.setPod(pod)
    return trial.fits
  }
  const gone = new Set(possible)
  if (!fitsWithout(gone)) return { message: UNSCHEDULABLE }
  const protectedPods = new Set(
    byBudget(
      possible.flatMap(({ pods }) => pods),
      informers.of(PodDisruptionBudget).list(),
    ).violating,
  )
  const isProtected = ({ pods }: Victim) => pods.some((pod) => protectedPods.has(pod))
  giveBack(possible.filter(isProtected), gone, fitsWithout)
  giveBack(
    possible.filter((victim) => !isProtected(victim)),
    gone,
    fitsWithout,
  )
  return {
    victims: [...gone].flatMap(({ pods }) => pods.map((pod) => [pod, "cluster"] as const)),
    preemptor: { type: "podgroup", object: group, priority },
  }
}

/** Takes out of `gone` whatever can stay, the first first. */
function giveBack(
  victims: readonly Victim[],
  gone: Set<Victim>,
  fitsWithout: (gone: ReadonlySet<Victim>) => boolean,
): void {
  if (victims.length === 0) return
  for (const victim of victims) gone.delete(victim)
  if (fitsWithout(gone)) return
  for (const victim of victims) gone.add(victim)
  if (victims.length === 1) return
  const middle = victims.length >> 1
  giveBack(victims.slice(0, middle), gone, fitsWithout)
  giveBack(victims.slice(middle), gone, fitsWithout)
}

function victimsIn({ cache, informers }: PodGroupTools): Victim[] {
  const groups = informers.of(PodGroup)
  const together = Map.groupBy(
    cache.list.flatMap(({ pods }) => [...pods.values()]),
    (pod) => {
      const key = groupOf(pod)
      const group = key === undefined ? undefined : groups.get(key)
      return group?.spec.disruptionMode === "PodGroup" ? group : pod
    },
  )
  return [...together].map(([whole, pods]) => ({
    pods,
    priority: whole.spec.priority ?? 0,
    isOfGroup: groupOf(pods[0]!) !== undefined,
    started: pods.map(({ status }) => status.startTime ?? "").sort()[0]!,
  }))
}

/** Groups are more important than pods of their priority, and large groups than small ones, and old than young. */
const moreImportant = (a: Victim, b: Victim): number =>
  b.priority - a.priority ||
  Number(b.isOfGroup) - Number(a.isOfGroup) ||
  (a.isOfGroup ? b.pods.length - a.pods.length : 0) ||
  (a.started < b.started ? -1 : 1)
