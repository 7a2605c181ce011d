import type { Pod } from "../../pkg/api/core/v1/pod.ts"
import type { NodeInfo } from "./cache.ts"

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

/** Something that happened in the cluster and may make a waiting pod schedulable. Source: framework/types.go ClusterEvent. */
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

export interface ClusterEvent {
  readonly action: ClusterAction
  /** The node or pod after the event, or its last state. */
  readonly object: unknown
}

export interface Plugin {
  readonly name: string
  /** What may make a pod schedulable that failed here; nothing else wakes it. */
  readonly eventsToRegister?: readonly ClusterAction[]
  /** May the pod enter the active queue at all? */
  preEnqueue?(pod: Pod): Status
  /** Looks at the pod once before all nodes; may narrow the nodes down, refuse it, or Skip its filter. */
  preFilter?(state: CycleState, pod: Pod, nodes: Iterable<NodeInfo>): Status | { readonly nodes: ReadonlySet<string> }
  /** What preFilter notes depends on the pods of other nodes too; so it must be noted anew when preemption tries a node without some of its pods. */
  readonly looksAtAllNodes?: boolean
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Status
  /** Once before scoring; Skip leaves the plugin's score out. */
  preScore?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[], allNodes: Iterable<NodeInfo>): Status
  /** The more the better; 0 to 100 after `normalize`. */
  score?(state: CycleState, pod: Pod, node: NodeInfo, totalNodes: number): number
  /** Brings raw scores into 0 … 100; scores are in the order of the nodes. */
  normalize?(scores: number[]): void
}

/** A plugin and how much its score counts. */
export interface Weighted {
  readonly plugin: Plugin
  readonly weight: number
}

export const MAX_SCORE = 100

/** Scales scores so that the largest becomes 100; `reverse` turns few into many. Source: helper.DefaultNormalizeScore. */
export const normalized =
  (reverse: boolean) =>
  (scores: number[]): void => {
    const largest = Math.max(0, ...scores)
    for (const [i, score] of scores.entries()) {
      const scaled = largest === 0 ? 0 : Math.floor((score * MAX_SCORE) / largest)
      scores[i] = reverse ? MAX_SCORE - scaled : scaled
    }
  }

/** Why a pod fits nowhere: by node, which plugin said what. Also what `explain` shows. */
export interface Diagnosis {
  readonly nodes: ReadonlyMap<string, { readonly plugin: string; readonly status: Status }>
  /** Set when the pod was refused before any node was looked at. */
  readonly preFilter?: { readonly plugin: string; readonly status: Status }
  readonly totalNodes: number
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. preemption: …`. Source: FitError.Error. */
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
