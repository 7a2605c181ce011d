import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { BindingContext } from "./binding-context.ts"
import type { NodeInfo } from "./node-info.ts"

/**
 * The result of a plugin for a pod, which decides what happens next. Source: framework/interface.go Code.
 *  - Unschedulable: the pod does not fit now; preempting other pods may help;
 *  - UnschedulableAndUnresolvable: preempting would not help;
 *  - Skip: the plugin's filter or score is left out for this pod;
 *  - Error: the plugin failed; the pod gets no node, not even another one, and is tried again.
 */
export type Code = "Success" | "Unschedulable" | "UnschedulableAndUnresolvable" | "Skip" | "Error"

export interface Status {
  readonly code: Code
  /** Reasons as `kubectl describe` shows them, e.g. "Insufficient cpu". */
  readonly reasons: readonly string[]
}

export const SUCCESS: Status = { code: "Success", reasons: [] }
export const SKIP: Status = { code: "Skip", reasons: [] }
export const unschedulable = (...reasons: string[]): Status => ({ code: "Unschedulable", reasons })
export const failed = (reason: string): Status => ({ code: "Error", reasons: [reason] })
export const unresolvable = (...reasons: string[]): Status => ({ code: "UnschedulableAndUnresolvable", reasons })

/** Notes of the plugins for their later steps in one scheduling cycle, by plugin. */
export type CycleState = Map<string, unknown>

/** An event in the cluster that may make a waiting pod schedulable. Source: framework/types.go ClusterEvent. */
export type ClusterAction =
  | "Node/Add"
  | "Node/UpdateAllocatable"
  | "Node/UpdateLabel"
  | "Node/UpdateTaint"
  | "Node/UpdateCondition"
  | "Node/UpdateDeclaredFeatures"
  | "Node/UpdateOwnPorts"
  | "AssignedPod/Add"
  | "AssignedPod/UpdateLabel"
  | "AssignedPod/ScaleDown"
  | "AssignedPod/Delete"
  | "Pod/Update"
  | "Volume/Change"
  | "Device/Change"
  | "DeviceClass/Change"
  | "PodGroup/Add"

/** The nodes of the cluster, and subsets that only some plugins read; most subsets are empty. */
export interface NodeList {
  readonly list: readonly NodeInfo[]
  /** Nodes with pods that have affinity or anti-affinity to other pods. */
  readonly withAffinity: Iterable<NodeInfo>
  /** Nodes with pods that have required anti-affinity. */
  readonly withAntiAffinity: Iterable<NodeInfo>
  /** Nodes with taints of the effect PreferNoSchedule. */
  readonly withSoftTaints: ReadonlySet<NodeInfo>
}

/** What a plugin keeps for a pod that has its node, until the pod is bound. */
export interface Reservation {
  /**
   * Writes it before the pod is bound, and waits for what others must make ready. @throws ApiError of a refused write,
   * Error where the pod cannot have it: the pod is then tried again. Source: PreBind.
   */
  preBind(): Promise<void>
  /** Gives it back because the pod is not bound after all. Source: Unreserve. */
  unreserve?(): Promise<void>
  /** The event for pods that wait for what was given back. */
  readonly freed?: ClusterAction
}

/** Orders the queue: compared part by part, the smaller first. */
export type SortKey = readonly (number | string)[]

export interface Plugin {
  readonly name: string
  /** The events that may make a pod schedulable after this plugin refused it; no other event wakes the pod. */
  readonly eventsToRegister?: readonly ClusterAction[]
  /**
   * Returns what the plugin reads of a pod, as a value that JSON can hold. Such a plugin gives the same answer about a
   * node for all pods with one signature until the node changes: its `filter` and `score` read nothing else, and its
   * answers are cached. Plugins with a signature come before those without. Source: KEP-5598, SignPlugin.
   */
  signature?(pod: Pod): unknown
  /** Whether the pod may enter the active queue at all. */
  preEnqueue?(pod: Pod): Status
  /** Returns what orders the pod in the queue; pods with equal keys, or none, are ordered by priority and age. */
  sortKey?(pod: Pod): SortKey | undefined
  /**
   * Finds out whether an event that the plugin has registered for may help a pod that it has refused, and calls `wake`
   * if so; every such event does where there is no such method.
   */
  readonly hint?: ((pod: Pod, action: ClusterAction, object: unknown, wake: () => void) => void) | undefined
  /** Runs once before the filters; may narrow the nodes down, refuse the pod, or Skip its filter. */
  preFilter?(state: CycleState, pod: Pod, nodes: NodeList): Status | { readonly nodes: ReadonlySet<string> }
  /** Whether preFilter reads the pods of other nodes: preemption then calls it again for each set of victims. */
  readonly looksAtAllNodes?: boolean
  /**
   * Replaces what preFilter has kept in `state` by what it would be if another pod were on the node as well. Called on
   * a copy of the state, for pods that are nominated to the node, and not where preFilter has skipped the pod. Source:
   * PreFilterExtensions.AddPod.
   */
  addPod?(state: CycleState, pod: Pod, added: Pod, node: NodeInfo): void
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Status
  /** Runs once before scoring; Skip leaves the plugin's score out. */
  preScore?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[], all: NodeList): Status
  /** Returns a score, the higher the better; from 0 to 100 after `normalize`. */
  score?(state: CycleState, pod: Pod, node: NodeInfo): number
  /**
   * Returns the scores of all nodes, in their order; used instead of `score`. For a plugin that finds most of what it
   * needs once for all nodes, of which a pod has hundreds to choose from.
   */
  scoreAll?(state: CycleState, nodes: readonly NodeInfo[]): number[]
  /**
   * Keeps for the pod what it gets on the node, in the turn of the decision: it counts for the next pod already.
   * Undefined for a pod that gets nothing. @throws Error where the node does not have it any more. Source: Reserve.
   */
  reserve?(pod: Pod, node: NodeInfo, context: BindingContext): Reservation | undefined
  /** Called with all nodes after this plugin has refused the pod and none fits: may give back what keeps it from one. */
  postFilter?(pod: Pod, nodes: readonly NodeInfo[], context: Pick<BindingContext, "client" | "clock">): Promise<void>
  /** Scales raw scores to 0 … 100; scores are in the order of the nodes. */
  normalize?(scores: number[]): void
}

/** A plugin with the weight of its score. */
export interface Weighted {
  readonly plugin: Plugin
  readonly weight: number
}

export const MAX_SCORE = 100

/** Returns the smallest and the largest score; 0 and 0 without any. */
export function bounds(scores: readonly number[]): readonly [least: number, most: number] {
  let [least, most] = [scores[0] ?? 0, scores[0] ?? 0]
  for (const score of scores) {
    if (score < least) least = score
    if (score > most) most = score
  }
  return [least, most]
}

/**
 * Returns a `normalize` that scales the largest score to 100; `reverse` turns low into high. Source:
 * helper.DefaultNormalizeScore.
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

/** Why a plugin refused a node. */
export interface Refusal {
  readonly plugin: string
  readonly status: Status
}

/** Why a pod fits no node: the refusal of each node. `explain` shows it too. */
export interface Diagnosis {
  readonly nodes: ReadonlyMap<string, Refusal>
  /** Set when preFilter refused the pod before any node was filtered. */
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
