import type { Pod } from "../../pkg/api/core/v1/pod.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { Cache, NodeInfo } from "./cache.ts"
import type { CycleState, Diagnosis, Plugin, Status, Weighted } from "./framework.ts"

/** A node for a pod, or why there is none. */
export type Outcome =
  | { readonly node: string }
  | {
      readonly diagnosis: Diagnosis
      /** The plugins whose events may change the answer. */ readonly plugins: ReadonlySet<string>
    }

export interface Placement {
  readonly cache: Cache
  readonly plugins: readonly Weighted[]
  readonly random: Random
  /** Pods that were promised room on a node by preemption, by node. */
  readonly nominated: ReadonlyMap<string, readonly Pod[]>
}

/** Below this many nodes all are looked at. Source: minFeasibleNodesToFind. */
const MIN_FEASIBLE = 100

/**
 * Finds a node for a pod: prefilter → filter → prescore → score → choose. One turn, without an await, so that nothing changes meanwhile.
 * `startAt` is where in the list of nodes to begin, so that all get their turn when only some are looked at. Source: pkg/scheduler/schedule_one.go.
 */
export function findNode(
  pod: Pod,
  placement: Placement,
  startAt: number,
): { readonly outcome: Outcome; readonly looked: number } {
  const { cache, plugins, nominated } = placement
  const state: CycleState = new Map()
  const totalNodes = cache.nodes.size
  const refused = new Map<string, { plugin: string; status: Status }>()
  const refusing = new Set<string>()

  const filters: Plugin[] = []
  let narrowed: ReadonlySet<string> | undefined
  for (const { plugin } of plugins) {
    const result = plugin.preFilter?.(state, pod, cache.nodes.values())
    if (result !== undefined && "nodes" in result) {
      const before: ReadonlySet<string> | undefined = narrowed
      narrowed = before === undefined ? result.nodes : new Set([...result.nodes].filter((name) => before.has(name)))
    } else if (result !== undefined && result.code !== "Success") {
      if (result.code === "Skip") continue
      return {
        outcome: {
          diagnosis: { nodes: refused, totalNodes, preFilter: { plugin: plugin.name, status: result } },
          plugins: new Set([plugin.name]),
        },
        looked: 0,
      }
    }
    if (plugin.filter !== undefined) filters.push(plugin)
  }

  const candidates =
    narrowed === undefined
      ? [...cache.nodes.values()]
      : [...narrowed].map((name) => cache.nodes.get(name)).filter((node) => node !== undefined)
  if (narrowed !== undefined)
    for (const name of cache.nodes.keys()) if (!narrowed.has(name)) refused.set(name, NOT_NAMED)
  if (narrowed !== undefined && candidates.length < totalNodes) refusing.add("NodeAffinity")
  const enough = feasibleToFind(candidates.length)
  const feasible: NodeInfo[] = []
  let looked = 0
  for (; looked < candidates.length && feasible.length < enough; looked++) {
    const node = candidates[(startAt + looked) % candidates.length]!
    const refusal = refusalBy(filters, state, pod, node, nominated.get(node.name))
    if (refusal === undefined) feasible.push(node)
    else {
      refused.set(node.name, refusal)
      refusing.add(refusal.plugin)
    }
  }
  if (feasible.length === 0) {
    // Without any node, a new one is what helps.
    const waking = totalNodes === 0 ? new Set(plugins.map(({ plugin }) => plugin.name)) : refusing
    return { outcome: { diagnosis: { nodes: refused, totalNodes }, plugins: waking }, looked }
  }
  return { outcome: { node: choose(pod, state, feasible, placement, totalNodes).name }, looked }
}

const NOT_NAMED = {
  plugin: "NodeAffinity",
  status: { code: "UnschedulableAndUnresolvable", reasons: ["node(s) didn't match Pod's node affinity/selector"] },
} satisfies { plugin: string; status: Status }

/** The first plugin that refuses the node, or none. Pods with at least this pod's priority that were promised room there count as if they were there. */
export function refusalBy(
  filters: readonly Plugin[],
  state: CycleState,
  pod: Pod,
  node: NodeInfo,
  promised: readonly Pod[] | undefined,
): { plugin: string; status: Status } | undefined {
  const ahead =
    promised?.filter(
      (other) => other.metadata.uid !== pod.metadata.uid && (other.spec.priority ?? 0) >= (pod.spec.priority ?? 0),
    ) ?? []
  if (ahead.length > 0) {
    const crowded = node.clone()
    for (const other of ahead) crowded.add(other)
    return firstRefusal(filters, state, pod, crowded)
  }
  return firstRefusal(filters, state, pod, node)
}

function firstRefusal(
  filters: readonly Plugin[],
  state: CycleState,
  pod: Pod,
  node: NodeInfo,
): { plugin: string; status: Status } | undefined {
  for (const plugin of filters) {
    const status = plugin.filter!(state, pod, node)
    if (status.code !== "Success") return { plugin: plugin.name, status }
  }
  return undefined
}

/** Of very many nodes a part is enough: half, less with more nodes, never under 5 %. Source: numFeasibleNodesToFind. */
export function feasibleToFind(nodes: number): number {
  if (nodes < MIN_FEASIBLE) return nodes
  const percentage = Math.max(5, 50 - Math.floor(nodes / 125))
  return Math.max(MIN_FEASIBLE, Math.floor((nodes * percentage) / 100))
}

/** The node with the highest sum of weighted scores; one of them by chance when several have it. */
function choose(
  pod: Pod,
  state: CycleState,
  nodes: readonly NodeInfo[],
  { plugins, random, cache }: Placement,
  totalNodes: number,
): NodeInfo {
  if (nodes.length === 1) return nodes[0]!
  const totals = new Array<number>(nodes.length).fill(0)
  for (const { plugin, weight } of plugins) {
    if (plugin.score === undefined || plugin.preScore?.(state, pod, nodes, cache.nodes.values()).code === "Skip")
      continue
    const scores = nodes.map((node) => plugin.score!(state, pod, node, totalNodes))
    plugin.normalize?.(scores)
    for (let i = 0; i < scores.length; i++) totals[i]! += weight * scores[i]!
  }
  let best = 0
  let equals = 1
  for (let i = 1; i < nodes.length; i++) {
    if (totals[i]! > totals[best]!) [best, equals] = [i, 1]
    else if (totals[i] === totals[best] && random.next() * ++equals < 1) best = i
  }
  return nodes[best]!
}
