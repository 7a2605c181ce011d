import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { NodeInfo } from "./node-info.ts"

/**
 * What a plugin says of a pod, and so what happens next. Source: framework/interface.go Code.
 *  Unschedulable: not now; preempting other pods might help.   UnschedulableAndUnresolvable: preempting would not help.
 *  Skip: the plugin has nothing to say about this pod.          Error: something broke; the pod is tried again.
 */
export type Code = "Success" | "Unschedulable" | "UnschedulableAndUnresolvable" | "Skip" | "Error"

export interface Status {
  readonly code: Code
  /** Reasons in the words that `kubectl describe` shows, e.g. "Insufficient cpu". */
  readonly reasons: readonly string[]
}

export const SUCCESS: Status = { code: "Success", reasons: [] }
export const SKIP: Status = { code: "Skip", reasons: [] }
export const unschedulable = (...reasons: string[]): Status => ({ code: "Unschedulable", reasons })
export const unresolvable = (...reasons: string[]): Status => ({ code: "UnschedulableAndUnresolvable", reasons })

/** What plugins note in one scheduling cycle for their later steps; keyed by plugin. */
export type CycleState = Map<string, unknown>

/**
 * Something that happened in the cluster and may make a waiting pod schedulable. Source: framework/types.go
 * ClusterEvent.
 */
export type ClusterAction =
  | "Node/Add"
  | "Node/UpdateAllocatable"
  | "Node/UpdateLabel"
  | "Node/UpdateTaint"
  | "Node/UpdateCondition"
  | "AssignedPod/Add"
  | "AssignedPod/UpdateLabel"
  | "AssignedPod/ScaleDown"
  | "AssignedPod/Delete"
  | "Pod/Update"
  | "Volume/Change"

/** The nodes of the cluster, and those among them that some plugins have to look at: mostly none. */
export interface NodeList {
  readonly list: readonly NodeInfo[]
  /** Nodes with pods that have affinity or anti-affinity to other pods. */
  readonly withAffinity: Iterable<NodeInfo>
  /** Nodes with pods that have required anti-affinity. */
  readonly withAntiAffinity: Iterable<NodeInfo>
  /** Nodes with taints of the effect PreferNoSchedule. */
  readonly withSoftTaints: ReadonlySet<NodeInfo>
}

export interface Plugin {
  readonly name: string
  /** What may make a pod schedulable that failed here; nothing else wakes it. */
  readonly eventsToRegister?: readonly ClusterAction[]
  /**
   * What the plugin reads of a pod, as a value that JSON can hold. A plugin that has this says the same of a node for
   * all pods with one signature until the node changes: its `filter` and `score` read nothing else, and its answers are
   * kept. Plugins with a signature come before those without. Source: KEP-5598, SignPlugin.
   */
  signature?(pod: Pod): unknown
  /** May the pod enter the active queue at all? */
  preEnqueue?(pod: Pod): Status
  /** Looks at the pod once before all nodes; may narrow the nodes down, refuse it, or Skip its filter. */
  preFilter?(state: CycleState, pod: Pod, nodes: NodeList): Status | { readonly nodes: ReadonlySet<string> }
  /**
   * preFilter notes what depends on the pods of other nodes: preemption calls it again for each set of victims it
   * tries.
   */
  readonly looksAtAllNodes?: boolean
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Status
  /** Once before scoring; Skip leaves the plugin's score out. */
  preScore?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[], all: NodeList): Status
  /** The more the better; 0 to 100 after `normalize`. */
  score?(state: CycleState, pod: Pod, node: NodeInfo): number
  /** Brings raw scores into 0 … 100; scores are in the order of the nodes. */
  normalize?(scores: number[]): void
}

/** A plugin and how much its score counts. */
export interface Weighted {
  readonly plugin: Plugin
  readonly weight: number
}

export const MAX_SCORE = 100

/** The smallest and the largest score; 0 and 0 without any. */
export function bounds(scores: readonly number[]): readonly [least: number, most: number] {
  let [least, most] = [scores[0] ?? 0, scores[0] ?? 0]
  for (const score of scores) {
    if (score < least) least = score
    if (score > most) most = score
  }
  return [least, most]
}

/**
 * Scales scores so that the largest becomes 100; `reverse` turns few into many. Source: helper.DefaultNormalizeScore.
 */
export const normalized =
  (reverse: boolean) =>
  (scores: number[]): void => {
    const largest = Math.max(0, bounds(scores)[1])
    for (let i = 0; i < scores.length; i++) {
      const scaled = largest === 0 ? 0 : Math.floor((scores[i]! * MAX_SCORE) / largest)
      scores[i] = reverse ? MAX_SCORE - scaled : scaled
    }
  }

/** What one plugin said against a node. */
export interface Refusal {
  readonly plugin: string
  readonly status: Status
}

/** Why a pod fits nowhere: by node, which plugin said what. Also what `explain` shows. */
export interface Diagnosis {
  readonly nodes: ReadonlyMap<string, Refusal>
  /** Set when the pod was refused before any node was looked at. */
  readonly preFilter?: Refusal
  readonly totalNodes: number
}

/**
 * `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. preemption: …`. Source: FitError.Error.
 */
export function diagnosisMessage(diagnosis: Diagnosis, preemption: string): string {
  const { totalNodes, nodes, preFilter } = diagnosis
  if (totalNodes === 0) return "no nodes available to schedule pods"
  const counts = new Map<string, number>()
  for (const { status } of nodes.values())
    for (const reason of status.reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const reasons =
    preFilter !== undefined
      ? preFilter.status.reasons.join(", ")
      : [...counts]
          .map(([reason, count]) => `${count} ${reason}`)
          .sort()
          .join(", ")
  return `0/${totalNodes} nodes are available: ${reasons}.${preemption === "" ? "" : ` ${preemption}`}`
}
