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
import { writeGroupCondition, type GroupVerdict } from "./group-condition.ts"
import { GroupMembers } from "./group-members.ts"
import { preemptForGroup } from "./group-preemption.ts"
import { evictAll, refusalsOf, refuseMember, UNSCHEDULABLE, WAITS_FOR_VICTIMS } from "./outcome.ts"
import { placementsOf, topologyKeyOf } from "./placements.ts"
import { tryGroup, type Trial, type TrialOptions } from "./trial.ts"

/**
 * Schedules pods with their groups. Invariant: between turns no pod is assumed to be on a node that is not being bound
 * to it. Source: pkg/scheduler/schedule_one_podgroup.go.
 */
export const createPodGroups = (tools: PodGroupTools): PodGroups => new PodGroupScheduler(tools)

class PodGroupScheduler implements PodGroups {
  readonly plugins: readonly Plugin[]
  readonly #tools: PodGroupTools
  readonly #members = new GroupMembers()
  /** The UIDs of groups that were scheduled. */
  readonly #scheduled = new Set<string>()

  constructor(tools: PodGroupTools) {
    this.#tools = tools
    const { GangScheduling, TopologyAwareWorkloadScheduling } = tools.features
    const groupNamed = (key: string) => tools.informers.of(PodGroup).get(key)
    const gang = gangScheduling(groupNamed, this.#members, TopologyAwareWorkloadScheduling)
    const { preEnqueue: _off, ...events } = gang
    this.plugins = [GangScheduling ? gang : events]
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
    const group = this.#tools.informers.of(PodGroup).get(key)
    const waiting = this.#waiting(first, key)
    if (waiting.length === 0) return
    try {
      this.#schedule(key, group, waiting)
    } catch (err) {
      for (const queued of waiting) this.#tools.contain(queued, err)
    }
  }

  /** Takes the pods of a group from the queue that may be scheduled now, the most important first. */
  #waiting(first: QueuedPod, key: string): readonly QueuedPod[] {
    const { queue, cache } = this.#tools
    const waiting: QueuedPod[] = []
    for (const uid of new Set([...this.#members.of(key).keys(), first.pod.metadata.uid ?? ""])) {
      const queued = uid === first.pod.metadata.uid ? first : queue.take(uid)
      if (queued === undefined) continue
      if (queued.pod.metadata.deletionTimestamp === undefined && !cache.isAssumed(queued.pod)) waiting.push(queued)
      else queue.done(queued.pod)
    }
    return waiting.sort((a, b) => (b.pod.spec.priority ?? 0) - (a.pod.spec.priority ?? 0) || a.added - b.added)
  }

  #schedule(key: string, group: PodGroup | undefined, waiting: readonly QueuedPod[]): void {
    const { clock, profileOf, features, cache } = this.#tools
    const started = clock.monotonic()
    const profile = profileOf(waiting[0]!.pod)
    const fault = faultOf(waiting, profile, group, key, features.GangScheduling)
    if (fault !== undefined) return this.#fail(waiting, fault, profile, group)
    const scheduled = [...this.#members.of(key).values()].filter((pod) => cache.nodeOf(pod) !== undefined)
    const minCount = features.GangScheduling ? (group?.spec.schedulingPolicy.gang?.minCount ?? 0) : 0
    const options: TrialOptions = {
      profile,
      waiting,
      scheduled: scheduled.length,
      needed: minCount,
      preempts: !features.WorkloadAwarePreemption,
    }
    const { trial, status } = this.#try(options, group, scheduled)
    const preempting = trial.found.filter((each) => "candidate" in each)
    if (trial.fits && preempting.length === 0) return this.#carryOut(waiting, trial, started, profile, group)
    trial.revert()
    if (trial.fits) {
      const victims = preempting.flatMap(({ candidate }) =>
        candidate.victims.map((victim): [Pod, string] => [victim, candidate.node]),
      )
      this.#refuse(waiting, trial, true, profile, group, { ...UNFIT, message: WAITS_FOR_VICTIMS })
      void this.#tools.inBackground(evictAll(victims, preemptorOf(preempting[0]!.queued.pod), profile))
      return
    }
    const verdict = trial.error === undefined ? { ...UNFIT, message: status } : failure(trial.error)
    if (trial.error !== undefined || !features.WorkloadAwarePreemption || group === undefined)
      return this.#refuse(waiting, trial, false, profile, group, verdict)
    const room = topologyKeyOf(group) === undefined ? preemptForGroup(this.#tools, group, options) : TOPOLOGICAL
    if ("message" in room)
      return this.#refuse(waiting, trial, false, profile, group, { ...UNFIT, message: `${status}, ${room.message}` })
    this.#refuse(waiting, trial, false, profile, group, UNFIT)
    void this.#tools.inBackground(evictAll(room.victims, room.preemptor, profile))
  }

  /** Tries the group in every placement that it may have. Returns the best trial, which was not reverted. */
  #try(
    options: TrialOptions,
    group: PodGroup | undefined,
    scheduled: readonly Pod[],
  ): { readonly trial: Trial; readonly status: string } {
    const tools = this.#tools
    const { cache, random, features } = tools
    const key = features.TopologyAwareWorkloadScheduling ? topologyKeyOf(group) : undefined
    if (key === undefined) return { trial: tryGroup(tools, options), status: UNSCHEDULABLE }
    const placements = placementsOf(
      key,
      cache,
      scheduled.map((pod) => [pod, cache.get(cache.nodeOf(pod) ?? "")]),
    )
    const tried = placements.map((among) => {
      const trial = tryGroup(tools, { ...options, among })
      trial.revert()
      return { among, trial, rank: random.next() }
    })
    // Source: plugins/podgrouppodscount: the placement with the most pods of the group, by chance among equals.
    const [best] = tried
      .filter(({ trial }) => trial.fits)
      .sort((a, b) => b.trial.placed - a.trial.placed || a.rank - b.rank)
    if (best !== undefined) return { trial: tryGroup(tools, { ...options, among: best.among }), status: UNSCHEDULABLE }
    const first = tried[0]?.trial ?? { found: [], placed: scheduled.length, fits: false, revert: () => undefined }
    const of = tried.length === 0 ? "" : `, first placement status: ${first.error ?? UNSCHEDULABLE}`
    return { trial: first, status: `0/${placements.length} placements are available${of}` }
  }

  /** Binds the pods that have a node; the others wait. */
  #carryOut(
    waiting: readonly QueuedPod[],
    trial: Trial,
    started: number,
    profile: Profile,
    group: PodGroup | undefined,
  ): void {
    for (const each of trial.found)
      if ("node" in each) this.#tools.bind(each.queued, each.node, started, profile, each.kept)
    const left = waiting.filter((_queued, i) => trial.found[i] === undefined || !("node" in trial.found[i]))
    const found = trial.found.filter((each) => !("node" in each))
    if (left.length > 0) this.#refuse(left, { ...trial, found }, false, profile, undefined, UNFIT)
    this.#tell(group, { status: "True", reason: "Scheduled", message: "" })
  }

  #refuse(
    waiting: readonly QueuedPod[],
    trial: Trial,
    waits: boolean,
    profile: Profile,
    group: PodGroup | undefined,
    verdict: GroupVerdict,
  ): void {
    for (const each of trial.found)
      if ("refused" in each) this.#tools.diagnosed(each.queued.pod, each.refused.diagnosis)
    for (const refusal of refusalsOf(waiting, trial, waits, NAME))
      void this.#tools.inBackground(refuseMember(refusal, profile, this.#tools))
    this.#tell(group, verdict)
  }

  #fail(waiting: readonly QueuedPod[], message: string, profile: Profile, group: PodGroup | undefined): void {
    for (const queued of waiting) {
      const refusal = { queued, message, plugins: new Set<string>(), reason: "SchedulerError" } as const
      void this.#tools.inBackground(refuseMember(refusal, profile, this.#tools))
    }
    this.#tell(group, failure(message))
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
const TOPOLOGICAL = {
  message: "workload aware preemption is not supported for pod groups with scheduling constraints",
}
const failure = (message: string): GroupVerdict => ({ status: "False", reason: "SchedulerError", message })

/** Returns why the group cannot be scheduled at all; undefined where it can. */
function faultOf(
  waiting: readonly QueuedPod[],
  profile: Profile,
  group: PodGroup | undefined,
  key: string,
  gangs: boolean,
): string | undefined {
  const other = waiting.find(({ pod }) => pod.spec.schedulerName !== profile.name)
  if (other !== undefined)
    return (
      "all pods in a single pod group should have the same .spec.schedulerName set, got: " +
      `${JSON.stringify(other.pod.spec.schedulerName)} and ${JSON.stringify(profile.name)}`
    )
  if (waiting.some(({ pod }) => profile.externals.some((external) => external.concerns(pod))))
    return "pods of pod groups cannot be scheduled by a profile with extenders or plugins of one's own"
  return gangs && group === undefined ? `failed to get podGroup ${key}: not found` : undefined
}
