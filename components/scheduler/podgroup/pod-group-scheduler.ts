import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { groupOf } from "../../../pkg/pods/pods-by-group.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { preemptorOf } from "../eviction.ts"
import type { Plugin } from "../framework.ts"
import type { PodGroups, PodGroupTools } from "../pod-groups.ts"
import type { Profile } from "../profile.ts"
import type { QueuedPod } from "../queued-pod.ts"
import { gangScheduling, NAME } from "./gang-scheduling.ts"
import { groupPluginsOf, type GroupPlugins } from "./group-plugins.ts"
import { writeGroupCondition, type GroupVerdict } from "./group-condition.ts"
import { GroupMembers } from "./group-members.ts"
import { preemptForGroup } from "./group-preemption.ts"
import { evictAll, refusalsOf, refuseMember, type Refusal, UNSCHEDULABLE, WAITS_FOR_VICTIMS } from "./outcome.ts"
import { searchPlacements, type Searched } from "./placement-search.ts"
import { placementsOf, topologyKeyOf } from "./placements.ts"
import { tryGroup, type Trial, type TrialOptions } from "./trial.ts"

/**
 * Schedules pods with their groups. Invariant: between turns no pod is assumed to be on a node that is not being bound
 * to it. Source: pkg/scheduler/schedule_one_podgroup.go.
 */
export const createPodGroups = (tools: PodGroupTools): PodGroups => new PodGroupScheduler(tools)

/** A group whose pods are being scheduled. */
interface Attempt {
  readonly key: string
  readonly started: number
  readonly profile: Profile
  readonly plugins: GroupPlugins
}

class PodGroupScheduler implements PodGroups {
  readonly #tools: PodGroupTools
  readonly #members = new GroupMembers()
  readonly #gang: Plugin
  /** The UIDs of groups that were scheduled. */
  readonly #scheduled = new Set<string>()
  /** Groups that are being tried, or of which it is being written why not → pods that had their turn meanwhile. */
  readonly #busy = new Map<string, QueuedPod[]>()

  constructor(tools: PodGroupTools) {
    this.#tools = tools
    const groupNamed = (key: string) => tools.informers.of(PodGroup).get(key)
    this.#gang = gangScheduling(groupNamed, this.#members, tools.features.TopologyAwareWorkloadScheduling)
  }

  pluginsOf(profile: Profile): readonly Plugin[] {
    if (groupPluginsOf(profile, this.#tools.features).gates) return [...profile.plugins, this.#gang]
    const { preEnqueue: _off, ...events } = this.#gang
    return [...profile.plugins, events]
  }

  async follow(): Promise<() => void> {
    const { informers, queue } = this.#tools
    const groups = informers.of(PodGroup)
    await groups.whenSynced()
    return groups.on({
      added: ({ metadata }) => {
        for (const pod of this.#members.of(`${metadata.namespace}/${metadata.name}`).values()) queue.recheckGated(pod)
        queue.moveAllToActiveOrBackoffQueue("PodGroup/Add")
      },
      deleted: ({ metadata }) => void this.#scheduled.delete(metadata.uid ?? ""),
    })
  }

  belongs(pod: Pod): boolean {
    return groupOf(pod) !== undefined
  }

  podChanged(pod: Pod): void {
    const isLeaving = !pod.spec.nodeName && pod.metadata.deletionTimestamp !== undefined
    if (isLeaving || isPodTerminal(pod)) this.#members.delete(pod)
    else this.#members.set(pod)
  }

  podEntered(pod: Pod): void {
    const key = groupOf(pod)
    if (key === undefined) return
    const { informers, queue } = this.#tools
    const needed = informers.of(PodGroup).get(key)?.spec.schedulingPolicy.gang?.minCount
    const members = this.#members.of(key)
    // Those before this one were not enough; those after it need nobody.
    if (members.size === needed) for (const member of members.values()) queue.recheckGated(member)
  }

  podGone(pod: Pod): void {
    this.#members.delete(pod)
  }

  schedule(first: QueuedPod): void {
    const key = groupOf(first.pod)!
    const late = this.#busy.get(key)
    if (late === undefined) this.#schedule(key, [first])
    else late.push(first)
  }

  /** Takes the pods of a group from the queue that may be scheduled now, the most important first. */
  #waiting(key: string, firsts: readonly QueuedPod[]): readonly QueuedPod[] {
    const { queue } = this.#tools
    const own = new Map(firsts.map((queued) => [queued.pod.metadata.uid ?? "", queued]))
    return [...new Set([...this.#members.of(key).keys(), ...own.keys()])]
      .map((uid) => own.get(uid) ?? queue.take(uid))
      .filter((queued) => queued !== undefined)
      .filter((queued) => this.#stillWaits(queued))
      .sort((a, b) => (b.pod.spec.priority ?? 0) - (a.pod.spec.priority ?? 0) || a.added - b.added)
  }

  /** Returns whether a pod that is in flight still needs a node, and takes over how it has changed. */
  #stillWaits(queued: QueuedPod): boolean {
    const { cache, queue } = this.#tools
    const pod = this.#members.of(groupOf(queued.pod)!).get(queued.pod.metadata.uid ?? "")
    if (pod !== undefined && pod.metadata.deletionTimestamp === undefined && !cache.isAssumed(pod)) {
      queued.pod = pod
      return true
    }
    queue.done(queued.pod)
    return false
  }

  #schedule(key: string, firsts: readonly QueuedPod[]): void {
    const waiting = this.#waiting(key, firsts)
    if (waiting.length === 0) return
    this.#busy.set(key, [])
    void this.#tools.inBackground(this.#attempt(key, waiting))
  }

  /** Schedules the pods, in this turn where that is possible, and then those that came meanwhile. */
  async #attempt(key: string, waiting: readonly QueuedPod[]): Promise<void> {
    try {
      const profile = this.#tools.profileOf(waiting[0]!.pod)
      const plugins = groupPluginsOf(profile, this.#tools.features)
      const attempt = { key, profile, plugins, started: this.#tools.clock.monotonic() }
      const fault = faultOf(waiting, attempt, this.#groupOf(attempt))
      const writing =
        fault !== undefined
          ? this.#fail(waiting, fault, attempt)
          : this.#tools.features.TopologyAwareWorkloadScheduling
            ? this.#search(attempt, waiting)
            : this.#conclude(attempt, waiting, tryGroup(this.#tools, this.#options(attempt, waiting)), UNSCHEDULABLE)
      // Only pods about which that is written are in the queue again, for the next attempt to take.
      if (writing !== undefined) await writing
    } catch (err) {
      for (const queued of waiting) this.#tools.contain(queued, err)
    }
    const late = this.#busy.get(key)!
    this.#busy.delete(key)
    if (this.#tools.isRunning() && late.length > 0) this.#schedule(key, late)
  }

  #groupOf({ key }: Attempt): PodGroup | undefined {
    return this.#tools.informers.of(PodGroup).get(key)
  }

  #options(attempt: Attempt, waiting: readonly QueuedPod[]): TrialOptions {
    const { profile, plugins } = attempt
    const needed = plugins.permits ? this.#groupOf(attempt)?.spec.schedulingPolicy.gang?.minCount : undefined
    return {
      profile,
      waiting,
      scheduled: this.#placed(attempt).length,
      needed: needed ?? 0,
      preempts: !this.#tools.features.WorkloadAwarePreemption,
    }
  }

  /** Returns the pods of the group that have a node. */
  #placed({ key }: Attempt): readonly Pod[] {
    return [...this.#members.of(key).values()].filter((pod) => this.#tools.cache.nodeOf(pod) !== undefined)
  }

  /** Tries the group in each placement, in several turns if need be. */
  async #search(attempt: Attempt, waiting: readonly QueuedPod[]): Promise<void> {
    const { cache, isRunning } = this.#tools
    const { plugins } = attempt
    let left = waiting
    let writing: Promise<void> | undefined
    const searched: Searched = {
      options: () => {
        left = isRunning() ? left.filter((queued) => this.#stillWaits(queued)) : []
        return left.length === 0 ? undefined : this.#options(attempt, left)
      },
      placements: () =>
        placementsOf(
          plugins.generates ? topologyKeyOf(this.#groupOf(attempt)) : undefined,
          cache,
          this.#placed(attempt).map((pod) => [pod, cache.get(cache.nodeOf(pod) ?? "")]),
        ),
      countWeight: plugins.countWeight,
    }
    try {
      await searchPlacements(this.#tools, searched, (found) => {
        const now = left
        left = []
        writing =
          "fault" in found
            ? this.#fail(now, found.fault, attempt)
            : this.#conclude(attempt, found.waiting, found.trial, found.status)
      })
    } catch (err) {
      for (const queued of left) this.#tools.contain(queued, err)
    }
    await writing
  }

  /**
   * Carries out what a trial has found.
   * @param waiting the pods of the trial
   * @param status why the group does not fit, where it does not
   * @returns undefined where nothing is written about pods
   */
  #conclude(attempt: Attempt, waiting: readonly QueuedPod[], trial: Trial, status: string): Promise<void> | undefined {
    const { profile, started } = attempt
    const group = this.#groupOf(attempt)
    const preempting = trial.found.filter((each) => "candidate" in each)
    if (trial.fits && preempting.length === 0) return this.#carryOut(waiting, trial, started, profile, group)
    trial.revert()
    if (trial.fits) {
      const victims = preempting.flatMap(({ candidate }) =>
        candidate.victims.map((victim): [Pod, string] => [victim, candidate.node]),
      )
      const writing = this.#refuse(waiting, trial, true, profile, group, { ...UNFIT, message: WAITS_FOR_VICTIMS })
      void this.#tools.inBackground(evictAll(victims, preemptorOf(preempting[0]!.queued.pod), profile))
      return writing
    }
    const verdict = trial.error === undefined ? { ...UNFIT, message: status } : failure(trial.error)
    if (trial.error !== undefined || !this.#tools.features.WorkloadAwarePreemption || group === undefined)
      return this.#refuse(waiting, trial, false, profile, group, verdict)
    return this.#makeRoom(attempt, waiting, trial, group, status)
  }

  /** Has pods and groups of lower priority make room for the whole group, where that helps. The group waits then. */
  async #makeRoom(
    attempt: Attempt,
    waiting: readonly QueuedPod[],
    trial: Trial,
    group: PodGroup,
    status: string,
  ): Promise<void> {
    const { profile } = attempt
    const { isRunning } = this.#tools
    let left = new Set(waiting)
    const room = await preemptForGroup(this.#tools, group, () => {
      left = new Set(isRunning() ? [...left].filter((queued) => this.#stillWaits(queued)) : [])
      return left.size === 0 ? undefined : this.#options(attempt, [...left])
    })
    if (room === undefined) return
    const refused: Trial = { ...trial, found: trial.found.filter(({ queued }) => left.has(queued)) }
    const verdict = "message" in room ? { ...UNFIT, message: `${status}, ${room.message}` } : UNFIT
    const writing = this.#refuse([...left], refused, false, profile, group, verdict)
    if ("victims" in room) void this.#tools.inBackground(evictAll(room.victims, room.preemptor, profile))
    await writing
  }

  /** Binds the pods that have a node; the others wait. */
  #carryOut(
    waiting: readonly QueuedPod[],
    trial: Trial,
    started: number,
    profile: Profile,
    group: PodGroup | undefined,
  ): Promise<void> | undefined {
    for (const each of trial.found)
      if ("node" in each) this.#tools.bind(each.queued, each.node, started, profile, each.kept)
    const left = waiting.filter((_queued, i) => trial.found[i] === undefined || !("node" in trial.found[i]))
    const found = trial.found.filter((each) => !("node" in each))
    this.#tell(group, { status: "True", reason: "Scheduled", message: "" })
    return left.length === 0 ? undefined : this.#refuse(left, { ...trial, found }, false, profile, undefined, UNFIT)
  }

  /** Resolves when the pods are in the queue again. */
  #refuse(
    waiting: readonly QueuedPod[],
    trial: Trial,
    waits: boolean,
    profile: Profile,
    group: PodGroup | undefined,
    verdict: GroupVerdict,
  ): Promise<void> {
    for (const each of trial.found)
      if ("refused" in each) this.#tools.diagnosed(each.queued.pod, each.refused.diagnosis)
    const writing = this.#writeAll(refusalsOf(waiting, trial, waits, NAME), profile)
    this.#tell(group, verdict)
    return writing
  }

  #fail(waiting: readonly QueuedPod[], message: string, attempt: Attempt): Promise<void> {
    const refusals = waiting.map((queued): Refusal => ({
      queued,
      message,
      plugins: new Set(),
      nominated: "",
      reason: "SchedulerError",
    }))
    const writing = this.#writeAll(refusals, attempt.profile)
    this.#tell(this.#groupOf(attempt), failure(message))
    return writing
  }

  async #writeAll(refusals: readonly Refusal[], profile: Profile): Promise<void> {
    await Promise.all(refusals.map((refusal) => refuseMember(refusal, profile, this.#tools)))
  }

  #tell(group: PodGroup | undefined, verdict: GroupVerdict): void {
    if (group === undefined) return
    const { uid = "" } = group.metadata
    // The informer may not show yet what was written just now.
    if (verdict.status === "True") this.#scheduled.add(uid)
    else if (this.#scheduled.has(uid)) return
    void this.#tools.inBackground(writeGroupCondition(group, verdict, this.#tools))
  }
}

const UNFIT: GroupVerdict = { status: "False", reason: "Unschedulable", message: UNSCHEDULABLE }
const failure = (message: string): GroupVerdict => ({ status: "False", reason: "SchedulerError", message })

/** Returns why the group cannot be scheduled at all; undefined where it can. */
function faultOf(
  waiting: readonly QueuedPod[],
  { key, profile, plugins }: Attempt,
  group: PodGroup | undefined,
): string | undefined {
  const other = waiting.find(({ pod }) => pod.spec.schedulerName !== profile.name)
  if (other !== undefined)
    return (
      "all pods in a single pod group should have the same .spec.schedulerName set, got: " +
      `${JSON.stringify(other.pod.spec.schedulerName)} and ${JSON.stringify(profile.name)}`
    )
  if (waiting.some(({ pod }) => profile.externals.some((external) => external.concerns(pod))))
    return "pods of pod groups cannot be scheduled by a profile with extenders or plugins of one's own"
  if (group !== undefined) return undefined
  if (plugins.generates) return `podgroup.scheduling.k8s.io ${JSON.stringify(key.split("/")[1])} not found`
  return plugins.permits ? `failed to get podGroup ${key}: not found` : undefined
}
