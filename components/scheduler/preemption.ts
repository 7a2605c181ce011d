import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { PodDisruptionBudget } from "../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { fromLabelSelector } from "../../pkg/apimachinery/selectors/labels.ts"
import type { DefaultPreemptionArgs } from "./config/plugin-args.ts"
import type { CycleState, Diagnosis, NodeList, Plugin } from "./framework.ts"
import type { NodeInfo } from "./node-info.ts"
import { refusalBy, type CycleContext } from "./schedule-one.ts"
import { postFilterMessage } from "./post-filter-message.ts"

/** A node on which a pod fits once the victims are gone. */
export interface Candidate {
  readonly node: string
  /** Sorted by priority, the highest first. */
  readonly victims: readonly Pod[]
  readonly budgetViolations: number
}

export type Preemption = { readonly candidate: Candidate } | NoPreemption

/** Preemption makes no room, or none further. */
export interface NoPreemption {
  /** What `kubectl describe` shows after the reasons. */
  readonly message: string
  /** Whether room is being made for the pod already: then it stays nominated to its node. */
  readonly keepsNomination: boolean
}

/** Finds the best node where deleting pods of lower priority makes room; see `findCandidates`, `bestOf`. */
export function findVictims(
  pod: Pod,
  diagnosis: Diagnosis,
  context: CycleContext,
  budgets: readonly PodDisruptionBudget[],
): Preemption {
  const found = findCandidates(pod, diagnosis, context, budgets)
  return "message" in found ? found : { candidate: bestOf(found.candidates) }
}

/**
 * Among several candidates takes, in this order of criteria, the node with the fewest violated disruption budgets, the
 * lowest priority of its most important victim, the lowest sum of the victims' priorities, the fewest victims, and the
 * latest start of its most important victim.
 */
export const bestOf = (candidates: readonly Candidate[]): Candidate =>
  candidates.reduce((best, next) => (better(next, best) ? next : best))

/**
 * Finds nodes where deleting pods of lower priority makes room. Source: plugins/defaultpreemption,
 * framework/preemption.
 */
export function findCandidates(
  pod: Pod,
  diagnosis: Diagnosis,
  context: CycleContext,
  budgets: readonly PodDisruptionBudget[],
): { readonly candidates: readonly Candidate[] } | NoPreemption {
  const { preemption, plugins } = context
  const refused = (message: string, keepsNomination = false) => ({
    message: postFilterMessage(pod, diagnosis, plugins, message),
    keepsNomination,
  })
  if (preemption === undefined) return refused("")
  const prefix = `preemption: 0/${diagnosis.totalNodes} nodes are available`
  if (pod.spec.preemptionPolicy === "Never")
    return refused("preemption: not eligible due to preemptionPolicy=Never.", true)
  const nominatedTo = pod.status.nominatedNodeName
  const nominated = nominatedTo === undefined ? undefined : context.cache.get(nominatedTo)
  // Preemption is already freeing this node for the pod.
  if (
    nominated !== undefined &&
    [...nominated.pods.values()].some((other) => other.metadata.deletionTimestamp !== undefined && lower(other, pod))
  ) {
    return refused("preemption: not eligible due to a terminating pod on the nominated node.", true)
  }
  const filters = context.plugins.map(({ plugin }) => plugin).filter((plugin) => plugin.filter !== undefined)
  const state: CycleState = new Map()
  const active = filters.filter((plugin) => {
    const result = plugin.preFilter?.(state, pod, context.cache)
    return !isSkip(result)
  })
  const helpless = new Map<string, number>()
  const note = (reason: string) => helpless.set(reason, (helpless.get(reason) ?? 0) + 1)
  const candidates: Candidate[] = []
  const hopeful: NodeInfo[] = []
  for (const [name, { status }] of diagnosis.nodes) {
    const node = context.cache.get(name)
    if (node === undefined) continue
    if (status.code === "UnschedulableAndUnresolvable") note("Preemption is not helpful for scheduling")
    else hopeful.push(node)
  }
  const enough = candidatesToFind(hopeful.length, preemption)
  // Every node gets its turn where not all are tried.
  const offset = enough < hopeful.length ? Math.floor(context.random.next() * hopeful.length) : 0
  for (let i = 0; i < hopeful.length; i++) {
    const candidate = victimsOn(pod, hopeful[(offset + i) % hopeful.length]!, active, state, context, budgets)
    if (candidate === undefined) note("No preemption victims found for incoming pod")
    else candidates.push(candidate)
    if (candidates.length >= enough && candidates.some(({ budgetViolations }) => budgetViolations === 0)) break
  }
  if (candidates.length === 0)
    return refused(
      `${prefix}: ${[...helpless]
        .map(([reason, count]) => `${count} ${reason}`)
        .sort()
        .join(", ")}.`,
    )
  return { candidates }
}

/** Source: defaultpreemption calculateNumCandidates. */
const candidatesToFind = (
  nodes: number,
  { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute }: DefaultPreemptionArgs,
): number => Math.min(nodes, Math.max(Math.floor((nodes * percentage) / 100), absolute))

const lower = (other: Pod, pod: Pod): boolean => (other.spec.priority ?? 0) < (pod.spec.priority ?? 0)

const isSkip = (result: ReturnType<NonNullable<Plugin["preFilter"]>> | undefined): boolean =>
  result !== undefined && "code" in result && result.code === "Skip"

/**
 * Removes all pods of lower priority from a copy of the node, then adds back as many as fit, the most important first.
 */
function victimsOn(
  pod: Pod,
  node: NodeInfo,
  filters: readonly Plugin[],
  state: CycleState,
  { nominations, cache }: CycleContext,
  budgets: readonly PodDisruptionBudget[],
): Candidate | undefined {
  const trial = node.clone()
  const potential = [...trial.pods.values()].filter((other) => lower(other, pod)).sort(moreImportant)
  if (potential.length === 0) return undefined
  for (const other of potential) trial.remove(other)
  const depending = filters.filter(({ looksAtAllNodes }) => looksAtAllNodes === true)
  const instead = (nodes: Iterable<NodeInfo>) => [...nodes].map((each) => (each === node ? trial : each))
  const withTrial: NodeList = {
    list: instead(cache.list),
    withAffinity: instead(cache.withAffinity),
    withAntiAffinity: instead(cache.withAntiAffinity),
    withSoftTaints: cache.withSoftTaints,
  }
  const fits = () => {
    const skipped = depending.filter((plugin) => isSkip(plugin.preFilter?.(state, pod, withTrial)))
    return (
      refusalBy(
        filters.filter((plugin) => !skipped.includes(plugin)),
        state,
        pod,
        trial,
        nominations.of(node),
      ) === undefined
    )
  }
  if (!fits()) return undefined
  const { violating, others } = byBudget(potential, budgets)
  const victims: Pod[] = []
  let budgetViolations = 0
  for (const [group, violates] of [
    [violating, true],
    [others, false],
  ] as const) {
    for (const other of group) {
      trial.add(other)
      if (fits()) continue
      trial.remove(other)
      victims.push(other)
      if (violates) budgetViolations++
    }
  }
  return { node: node.name, victims: victims.sort(moreImportant), budgetViolations }
}

const moreImportant = (a: Pod, b: Pod): number =>
  (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || ((a.status.startTime ?? "") < (b.status.startTime ?? "") ? -1 : 1)

/** Splits pods into those whose eviction a disruption budget forbids, and the rest. */
export function byBudget(
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
): { readonly violating: readonly Pod[]; readonly others: readonly Pod[] } {
  const left = new Map(budgets.map((budget) => [budget, budget.status.disruptionsAllowed ?? 0]))
  const violating: Pod[] = []
  const others: Pod[] = []
  for (const pod of pods) {
    const guarding = budgets.filter(
      ({ metadata, spec }) =>
        metadata.namespace === pod.metadata.namespace &&
        spec.selector !== undefined &&
        fromLabelSelector(spec.selector).matches(pod.metadata.labels),
    )
    for (const budget of guarding) left.set(budget, left.get(budget)! - 1)
    ;(guarding.some((budget) => left.get(budget)! < 0) ? violating : others).push(pod)
  }
  return { violating, others }
}

function better(a: Candidate, b: Candidate): boolean {
  const keys = ({ victims, budgetViolations }: Candidate) => [
    budgetViolations,
    victims[0]?.spec.priority ?? 0,
    victims.reduce((sum, { spec }) => sum + (spec.priority ?? 0) + 2 ** 31, 0),
    victims.length,
    -Date.parse(victims[0]?.status.startTime ?? "1970-01-01T00:00:00Z"),
  ]
  const [x, y] = [keys(a), keys(b)]
  for (const [i, key] of x.entries()) if (key !== y[i]) return key < y[i]!
  return false
}
