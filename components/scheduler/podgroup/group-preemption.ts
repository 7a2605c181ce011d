import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { groupOf } from "../../../pkg/pods/pods-by-group.ts"
import type { Preemptor } from "../eviction.ts"
import type { PodGroupTools } from "../pod-groups.ts"
import { byBudget } from "../preemption.ts"
import { UNSCHEDULABLE } from "./outcome.ts"
import { topologyKeyOf } from "./placements.ts"
import { Steps } from "./steps.ts"
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
 * Each is a trial of the whole group, so where these are many it takes several turns of the event loop, between which
 * nothing is taken away or assumed. Source: framework/preemption/podgrouppreemption.go. Differs from upstream: victims
 * are given back in halves, which finds the same ones with fewer trials where most can stay.
 * @param current returns the trial of the pods that still wait; undefined where none does
 * @returns undefined where no pod waits any more
 */
export async function preemptForGroup(
  tools: PodGroupTools,
  group: PodGroup,
  current: () => TrialOptions | undefined,
): Promise<Room | { readonly message: string } | undefined> {
  const { informers } = tools
  const options = current()
  if (options === undefined) return undefined
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
  const trials = new TrialsWithout(tools, current)
  const gone = new Set(possible)
  if (!(await trials.fit(gone))) return trials.hasEnded ? undefined : { message: UNSCHEDULABLE }
  const protectedPods = new Set(
    byBudget(
      possible.flatMap(({ pods }) => pods),
      informers.of(PodDisruptionBudget).list(),
    ).violating,
  )
  const isProtected = ({ pods }: Victim) => pods.some((pod) => protectedPods.has(pod))
  await giveBack(possible.filter(isProtected), gone, trials)
  await giveBack(
    possible.filter((victim) => !isProtected(victim)),
    gone,
    trials,
  )
  // Others may have come and gone in the turns between.
  const stillFits = !trials.tookTurns || (await trials.fit(gone))
  if (trials.hasEnded) return undefined
  if (!stillFits) return { message: UNSCHEDULABLE }
  return {
    victims: [...gone].flatMap(({ pods }) => pods.map((pod) => [pod, "cluster"] as const)),
    preemptor: { type: "podgroup", object: group, priority },
  }
}

/** Trials of a group on the nodes as they would be without some pods. */
class TrialsWithout {
  readonly #tools: PodGroupTools
  readonly #current: () => TrialOptions | undefined
  readonly #steps: Steps
  /** Whether no pod of the group waits any more. */
  hasEnded = false
  /** Whether the trials so far took more than one turn. */
  tookTurns = false

  constructor(tools: PodGroupTools, current: () => TrialOptions | undefined) {
    this.#tools = tools
    this.#current = current
    this.#steps = new Steps(tools.clock)
  }

  async fit(gone: ReadonlySet<Victim>): Promise<boolean> {
    if (this.#steps.areMany) {
      this.tookTurns = true
      await this.#steps.next()
    }
    const options = this.hasEnded ? undefined : this.#current()
    this.hasEnded = options === undefined
    if (options === undefined) return false
    const { cache } = this.#tools
    const away = [...gone]
      .flatMap(({ pods }) => pods)
      .map((pod) => {
        const node = cache.nodeOf(pod)
        const now = node === undefined ? undefined : cache.get(node)?.pods.get(pod.metadata.uid ?? "")
        return { node, now, isAssumed: cache.isAssumed(pod) }
      })
    for (const { now } of away) if (now !== undefined) cache.forget(now)
    const trial = tryGroup(this.#tools, options)
    trial.revert()
    for (const { node, now, isAssumed } of away)
      if (now !== undefined && isAssumed) cache.assume(now, node!)
      else if (now !== undefined) cache.setPod(now)
    this.#steps.took(trial)
    return trial.fits
  }
}

/** Takes out of `gone` whatever can stay, the first first. */
async function giveBack(victims: readonly Victim[], gone: Set<Victim>, trials: TrialsWithout): Promise<void> {
  if (victims.length === 0 || trials.hasEnded) return
  for (const victim of victims) gone.delete(victim)
  if (await trials.fit(gone)) return
  for (const victim of victims) gone.add(victim)
  if (victims.length === 1) return
  const middle = victims.length >> 1
  await giveBack(victims.slice(0, middle), gone, trials)
  await giveBack(victims.slice(middle), gone, trials)
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
