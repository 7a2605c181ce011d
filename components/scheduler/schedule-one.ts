import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { Cache } from "./cache.ts"
import type { DefaultPreemptionArgs } from "./config/plugin-args.ts"
import type { CycleState, Diagnosis, Plugin, Refusal, Weighted } from "./framework.ts"
import type { NodeInfo } from "./node-info.ts"
import { firstRefusal, isKeptScore, type NodeVerdicts } from "./node-verdicts.ts"
import type { ExtensionPoint, PointStatus } from "./observer.ts"
import type { Nominations } from "./nominations.ts"

/** The node chosen for a pod, or why none fits. */
export type Outcome =
  | { readonly node: string }
  /** Why a plugin failed. */
  | { readonly error: string }
  | {
      readonly diagnosis: Diagnosis
      /** The plugins whose events may change the result. */
      readonly plugins: ReadonlySet<string>
    }

/** What a scheduling cycle reads. */
export interface CycleContext {
  readonly cache: Cache
  readonly plugins: readonly Weighted[]
  readonly verdicts: NodeVerdicts
  readonly random: Random
  /** Returns the name of the node that a pod gets of equal ones; without it, chance decides. */
  readonly prefers?: ((pod: Pod) => string | undefined) | undefined
  readonly nominations: Nominations
  /** Part of the nodes that is found before the search ends, in percent; 0 for one that depends on their number. */
  readonly percentageOfNodesToScore: number
  /** How preemption looks for victims; undefined where the profile has it off. */
  readonly preemption: DefaultPreemptionArgs | undefined
  /** Measures the extension points; absent where nobody wants to know. */
  readonly timed?: PointTimer | undefined
}

/** Measures extension points, one after the other. */
export interface PointTimer {
  now(): number
  /** Notes that an extension point has ended that began at a time. Returns the time of its end. */
  ended(point: ExtensionPoint, status: PointStatus, began: number): number
}

/** With fewer nodes than this, all are filtered. Source: minFeasibleNodesToFind. */
const MIN_FEASIBLE = 100

/** The nodes that fit a pod, with what the next steps need. */
export interface Search {
  readonly feasible: readonly NodeInfo[]
  /** The cached sums of the scores of the feasible nodes. */
  readonly totals: Float64Array
  readonly state: CycleState
  readonly looked: number
  readonly refused: readonly (readonly [NodeInfo, Refusal])[]
}

/**
 * Finds a node for a pod: prefilter → filter → prescore → score → choose. It runs in one turn, without an await, so
 * nothing changes meanwhile. `startAt` is the index in the list of nodes to begin at, so that every node gets its turn
 * when only some are filtered; `looked` is the number of filtered nodes. Source: pkg/scheduler/schedule_one.go.
 */
export function findNode(
  pod: Pod,
  context: CycleContext,
  startAt: number,
): { readonly outcome: Outcome; readonly looked: number } {
  const found = findFeasible(pod, context, startAt)
  if ("outcome" in found) return found
  const { feasible, totals, state, looked } = found
  return { outcome: { node: scored(context, () => choose(pod, state, feasible, totals, context)).name }, looked }
}

/** Measures the choice among feasible nodes. */
function scored<T>({ timed }: CycleContext, choice: () => T): T {
  const began = timed?.now() ?? 0
  const chosen = choice()
  timed?.ended("Score", "Success", began)
  return chosen
}

/**
 * Chooses among nodes that externals have accepted, with their scores by node. Filters them again, since others may
 * have taken what was free before.
 */
export function findAmong(pod: Pod, context: CycleContext, accepted: ReadonlyMap<string, number>): Outcome {
  const found = findFeasible(pod, context, 0, accepted)
  if ("outcome" in found) return found.outcome
  const { feasible, totals, state } = found
  for (const [i, { name }] of feasible.entries()) totals[i]! += accepted.get(name)!
  return { node: scored(context, () => choose(pod, state, feasible, totals, context)).name }
}

/**
 * Filters nodes for a pod, until enough fit or all were looked at.
 * @param among the only nodes to look at, all of them; undefined for any
 * @param all whether all nodes are looked at
 */
export function findFeasible(
  pod: Pod,
  context: CycleContext,
  startAt: number,
  among?: ReadonlyMap<string, unknown>,
  all = among !== undefined,
): Search | { readonly outcome: Outcome; readonly looked: number } {
  const { cache, nominations, timed } = context
  let began = timed?.now() ?? 0
  const ended = (point: ExtensionPoint, status: PointStatus): void => {
    if (timed !== undefined) began = timed.ended(point, status, began)
  }
  const state: CycleState = new Map()
  const totalNodes = cache.list.length
  const narrowed = preFilter(state, pod, context)
  ended("PreFilter", "preFilter" in narrowed ? "Unschedulable" : "Success")
  if ("preFilter" in narrowed) {
    const { preFilter } = narrowed
    const diagnosis = { nodes: new Map(), totalNodes, preFilter }
    return { outcome: { diagnosis, plugins: new Set([preFilter.plugin]) }, looked: 0 }
  }

  const { signing, others } = narrowed
  const candidates =
    among === undefined ? narrowed.candidates : narrowed.candidates.filter(({ name }) => among.has(name))
  const verdicts = context.verdicts.for(pod, signing)
  const filters = [...signing, ...others]
  const refused: [NodeInfo, Refusal][] = []
  const enough = all ? candidates.length : feasibleToFind(candidates.length, context.percentageOfNodesToScore)
  // The arrays have their full length from the start: growing them for each pod took longer than filtering.
  const feasible = new Array<NodeInfo>(enough)
  const totals = new Float64Array(enough)
  let found = 0
  let looked = 0
  for (let at = startAt; looked < candidates.length && found < enough; looked++, at++) {
    if (at >= candidates.length) at %= candidates.length
    const node = candidates[at]!
    const verdict = verdicts.of(state, pod, node)
    const nominated = nominations.of(node)
    const refusal =
      verdict.refusal ??
      (nominated === undefined
        ? firstRefusal(others, state, pod, node)
        : refusalBy(filters, state, pod, node, nominated))
    if (refusal === undefined) {
      feasible[found] = node
      totals[found++] = verdict.score
    } else if (refusal.status.code === "Error") {
      ended("Filter", "Error")
      return { outcome: failureOf(refusal), looked: looked + 1 }
    } else refused.push([node, refusal])
  }
  feasible.length = found
  ended("Filter", found === 0 ? "Unschedulable" : "Success")
  if (found === 0) return { outcome: unschedulableOutcome(refused, { ...narrowed, candidates }, context), looked }
  return { feasible, totals, state, looked, refused }
}

/** Source: RunFilterPlugins in framework/runtime/framework.go. */
const failureOf = ({ plugin, status }: Refusal): Outcome => ({
  error: `running ${JSON.stringify(plugin)} filter plugin: ${status.reasons.join(", ")}`,
})

interface Narrowed {
  readonly candidates: readonly NodeInfo[]
  /** Names of the plugins that reduced the candidates to some nodes. */
  readonly narrowedBy: readonly string[]
  /** Plugins with a filter that did not Skip the pod: those whose verdicts are cached, and those that run each time. */
  readonly signing: readonly Plugin[]
  readonly others: readonly Plugin[]
}

/** Runs preFilter of each plugin. Returns the first refusal. */
function preFilter(
  state: CycleState,
  pod: Pod,
  { cache, plugins }: CycleContext,
): Narrowed | { readonly preFilter: Refusal } {
  const [signing, others]: [Plugin[], Plugin[]] = [[], []]
  const narrowedBy: string[] = []
  let names: ReadonlySet<string> | undefined
  for (const { plugin } of plugins) {
    const result = plugin.preFilter?.(state, pod, cache)
    if (result !== undefined && "nodes" in result) {
      names = names === undefined ? result.nodes : names.intersection(result.nodes)
      narrowedBy.push(plugin.name)
    } else if (result?.code === "Skip") continue
    else if (result !== undefined && result.code !== "Success")
      return { preFilter: { plugin: plugin.name, status: result } }
    if (plugin.filter !== undefined) (plugin.signature === undefined ? others : signing).push(plugin)
  }
  const candidates =
    names === undefined ? cache.list : [...names].map((name) => cache.get(name)).filter((node) => node !== undefined)
  return { candidates, narrowedBy, signing, others }
}

/**
 * Returns why no node is left. Nodes that preFilter excluded are counted under the names of the plugins that excluded
 * nodes.
 */
function unschedulableOutcome(
  refused: readonly (readonly [NodeInfo, Refusal])[],
  { candidates, narrowedBy }: Narrowed,
  { cache, plugins }: CycleContext,
): Outcome {
  const totalNodes = cache.list.length
  // Without any node only a new node helps, whichever plugin waits for it.
  if (totalNodes === 0)
    return { diagnosis: { nodes: new Map(), totalNodes }, plugins: new Set(plugins.map(({ plugin }) => plugin.name)) }
  const nodes = new Map(refused.map(([node, refusal]) => [node.name, refusal]))
  const refusing = new Set(refused.map(([, { plugin }]) => plugin))
  if (candidates.length < totalNodes) {
    const reason = `node(s) didn't satisfy plugin(s) [${narrowedBy.toSorted().join(" ")}]`
    const status = { code: "UnschedulableAndUnresolvable", reasons: [reason] } as const
    const ruledOut = { plugin: narrowedBy[0]!, status }
    for (const { name } of cache.list) if (!nodes.has(name)) nodes.set(name, ruledOut)
    for (const plugin of narrowedBy) refusing.add(plugin)
  }
  return { diagnosis: { nodes, totalNodes }, plugins: refusing }
}

/**
 * Returns the first refusal of the node; undefined when every plugin accepts it. Nominated pods of at least this pod's
 * priority count as if they were on the node; since they may come to nothing, the node must do without them as well,
 * which affinity to one of them does not. Source: RunFilterPluginsWithNominatedPods.
 */
export function refusalBy(
  filters: readonly Plugin[],
  state: CycleState,
  pod: Pod,
  node: NodeInfo,
  nominated: readonly Pod[] = [],
): Refusal | undefined {
  const ahead = nominated.filter(
    (other) => other.metadata.uid !== pod.metadata.uid && (other.spec.priority ?? 0) >= (pod.spec.priority ?? 0),
  )
  if (ahead.length === 0) return firstRefusal(filters, state, pod, node)
  const crowded = node.clone()
  const withThem: CycleState = new Map(state)
  for (const other of ahead) {
    crowded.add(other)
    for (const plugin of filters) plugin.addPod?.(withThem, pod, other, crowded)
  }
  return firstRefusal(filters, withThem, pod, crowded) ?? firstRefusal(filters, state, pod, node)
}

/**
 * Returns how many feasible nodes are enough: the given part in percent, or half, a smaller part with more nodes, never
 * under 5 %. Source: numFeasibleNodesToFind.
 */
export function feasibleToFind(nodes: number, given = 0): number {
  if (nodes < MIN_FEASIBLE) return nodes
  const percentage = given === 0 ? Math.max(5, 50 - Math.floor(nodes / 125)) : given
  return Math.max(MIN_FEASIBLE, Math.floor((nodes * percentage) / 100))
}

/**
 * Returns the node with the highest weighted sum of scores, at random among equals. `totals` are the cached sums in the
 * order of the nodes; the other scores are added.
 */
function choose(
  pod: Pod,
  state: CycleState,
  nodes: readonly NodeInfo[],
  totals: Float64Array,
  { plugins, random, cache, prefers }: CycleContext,
): NodeInfo {
  if (nodes.length === 1) return nodes[0]!
  for (const { plugin, weight } of plugins) {
    if (isKeptScore(plugin) || (plugin.score === undefined && plugin.scoreAll === undefined)) continue
    if (plugin.preScore?.(state, pod, nodes, cache).code === "Skip") continue
    const scores = plugin.scoreAll?.(state, nodes) ?? scoreEach(plugin, pod, state, nodes)
    plugin.normalize?.(scores)
    for (let i = 0; i < nodes.length; i++) totals[i]! += weight * scores[i]!
  }
  const preferred = prefers?.(pod)
  let best = 0
  let most = totals[0]!
  let equals = 1
  for (let i = 1; i < nodes.length; i++) {
    const total = totals[i]!
    if (total > most) {
      best = i
      most = total
      equals = 1
    } else if (total === most && random.next() * ++equals < 1) best = i
  }
  if (preferred !== undefined) {
    const index = nodes.findIndex(({ name }) => name === preferred)
    if (index !== -1 && totals[index] === most) return nodes[index]!
  }
  return nodes[best]!
}

function scoreEach(plugin: Plugin, pod: Pod, state: CycleState, nodes: readonly NodeInfo[]): number[] {
  const scores = new Array<number>(nodes.length)
  for (let i = 0; i < nodes.length; i++) scores[i] = plugin.score!(state, pod, nodes[i]!)
  return scores
}
