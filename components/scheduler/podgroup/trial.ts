import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { ReserveError, type Kept } from "../binding-cycle.ts"
import { unresolvable, type Diagnosis, type Refusal } from "../framework.ts"
import type { PodGroupTools } from "../pod-groups.ts"
import { findVictims, type Candidate } from "../preemption.ts"
import type { Profile } from "../profile.ts"
import type { QueuedPod } from "../queued-pod.ts"
import type { Refused } from "../refusal-cycle.ts"
import { findAmong, findNode, type Outcome } from "../schedule-one.ts"

/** What was found for one pod of a group. */
export type Found =
  | { readonly queued: QueuedPod; readonly node: string; readonly kept: readonly Kept[] }
  /** It gets its node when the victims are gone. */
  | { readonly queued: QueuedPod; readonly refused: Refused; readonly candidate: Candidate }
  | { readonly queued: QueuedPod; readonly refused: Refused }

/** How a group would be placed. */
export interface Trial {
  /** In the order of the pods. A trial that cannot end well is not continued, and has fewer. */
  readonly found: readonly Found[]
  /** How many pods of the group have a node, or would have. */
  readonly placed: number
  /** Whether as many have one as the group needs. */
  readonly fits: boolean
  /** Set where a plugin failed. */
  readonly error?: string
  /** Gives everything back: the scheduler is as it was before the trial. */
  revert(): void
}

export interface TrialOptions {
  readonly profile: Profile
  /** The pods that wait, the most important first. */
  readonly waiting: readonly QueuedPod[]
  /** Pods of the group that have their nodes. */
  readonly scheduled: number
  /** How many pods must have a node. */
  readonly needed: number
  /** The only nodes to look at; undefined for all. */
  readonly among?: ReadonlyMap<string, number> | undefined
  /** Whether victims are looked for, for each pod on its own. */
  readonly preempts: boolean
}

const OUTSIDE: Refusal = {
  plugin: "TopologyPlacementGenerator",
  status: unresolvable("node(s) were outside of the pod group's placement"),
}

/**
 * Places the pods of a group one after the other, each as if those before were on their nodes, and the victims gone
 * that they need gone. All in one turn: nothing changes meanwhile. Source: schedule_one_podgroup.go
 * podGroupSchedulingDefaultAlgorithm. Differs from upstream, where each pod that fits nowhere evicts others even where
 * the group does not fit after that, and all pods are tried even where too few are left.
 */
export function tryGroup(tools: PodGroupTools, options: TrialOptions): Trial {
  const { cache, nominations } = tools
  const { profile, waiting, scheduled, needed } = options
  const found: Found[] = []
  const undo: (() => void)[] = []
  let placed = scheduled
  let error: string | undefined

  const assume = (pod: Pod, node: string) => {
    const nominated = nominations.nodeOf(pod)
    nominations.remove(pod)
    cache.assume(pod, node)
    placed++
    undo.push(() => {
      cache.forget(pod)
      if (nominated !== undefined) nominations.nominate(pod, nominated)
    })
  }
  const takeAway = (victim: Pod, node: string) => {
    const isAssumed = cache.isAssumed(victim)
    cache.forget(victim)
    undo.push(() => (isAssumed ? cache.assume(victim, node) : cache.setPod(victim)))
  }

  for (const [i, queued] of waiting.entries()) {
    if (placed + waiting.length - i < needed) break
    const { pod } = queued
    const outcome = nodeFor(pod, options)
    if ("error" in outcome) {
      error = outcome.error
      break
    }
    if ("node" in outcome) {
      try {
        const kept = tools.reserve(pod, outcome.node, profile)
        if (kept.length > 0) undo.push(() => void profile.binding.unreserve(pod, kept))
        assume(pod, outcome.node)
        found.push({ queued, node: outcome.node, kept })
        continue
      } catch (err) {
        if (!(err instanceof ReserveError)) throw err
        undo.push(() => void profile.binding.unreserve(pod, err.kept))
        error = err.message
        break
      }
    }
    const refused = withPreemption(pod, outcome, tools, options)
    if ("message" in refused.preemption) {
      found.push({ queued, refused })
      continue
    }
    const { candidate } = refused.preemption
    for (const victim of candidate.victims) takeAway(victim, candidate.node)
    assume(pod, candidate.node)
    found.push({ queued, refused, candidate })
  }
  return {
    found,
    placed,
    fits: error === undefined && placed >= needed && placed > scheduled,
    ...(error === undefined ? {} : { error }),
    revert: () => {
      for (const each of undo.toReversed()) each()
      undo.length = 0
    },
  }
}

function nodeFor(pod: Pod, { profile, among }: TrialOptions): Outcome {
  const { cycle } = profile.context
  if (among === undefined) return findNode(pod, cycle, 0).outcome
  const outcome = findAmong(pod, cycle, among)
  if (!("diagnosis" in outcome)) return outcome
  const nodes = new Map(outcome.diagnosis.nodes)
  for (const { name } of cycle.cache.list) if (!among.has(name)) nodes.set(name, OUTSIDE)
  const diagnosis: Diagnosis = { ...outcome.diagnosis, nodes }
  return { diagnosis, plugins: outcome.plugins }
}

function withPreemption(
  pod: Pod,
  outcome: Extract<Outcome, { readonly diagnosis: Diagnosis }>,
  { informers }: PodGroupTools,
  { profile, preempts }: TrialOptions,
): Refused {
  if (!preempts) return { ...outcome, preemption: { message: "", keepsNomination: true } }
  const budgets = informers.of(PodDisruptionBudget).list(pod.metadata.namespace)
  return { ...outcome, preemption: findVictims(pod, outcome.diagnosis, profile.context.cycle, budgets) }
}
