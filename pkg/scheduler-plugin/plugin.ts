import type { Node } from "../api/core/v1/node/node.ts"
import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { ExtensionPoint } from "./extension-points.ts"

/** An event in the cluster after which pods that a plugin has refused are tried again. */
export type SchedulingEvent = (typeof SCHEDULING_EVENTS)[number]
export const SCHEDULING_EVENTS = [
  "Node/Add",
  "Node/UpdateAllocatable",
  "Node/UpdateLabel",
  "Node/UpdateTaint",
  "Node/UpdateCondition",
  "AssignedPod/Add",
  "AssignedPod/UpdateLabel",
  "AssignedPod/ScaleDown",
  "AssignedPod/Delete",
  "Pod/Update",
  "Volume/Change",
  "Device/Change",
] as const

/** Why a pod does not fit. */
export interface Refusal {
  /** As `kubectl describe` shows it: "node(s) had no free slot". */
  readonly reason: string
  /** True where no preemption of other pods would help. */
  readonly unresolvable?: boolean
}

/** Nothing where the pod fits; the reason, or a Refusal, where it does not. */
export type Verdict = undefined | void | string | Refusal

/** Amounts of resources: cpu in thousandths of a core, memory and ephemeral-storage in bytes, others in units. */
export type ResourceAmounts = Readonly<Record<string, number>>

/** A node as the scheduler sees it: with the pods that are there, and those whose binding is being written. */
export interface NodeView {
  readonly name: string
  /** Without `metadata.managedFields` and `status.images`. */
  readonly node: Node
  /** Without `metadata.managedFields` and `status`. */
  readonly pods: readonly Pod[]
  readonly allocatable: ResourceAmounts
  readonly requested: ResourceAmounts
}

/** What a plugin gets beside the pod: one for each attempt to schedule it. */
export interface Cycle<Args = unknown> {
  /** What the plugin notes for its later steps of this attempt. */
  readonly state: Map<string, unknown>
  /** The plugin's arguments in the KubeSchedulerConfiguration; undefined without any. */
  readonly args: Args
  /** Every node of the cluster. */
  readonly nodes: readonly NodeView[]
  /** Returns a node by its name. */
  node(name: string): NodeView | undefined
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

type Answer<T> = T | Promise<T>

/** Which pods concern a plugin: those with all that is given. No other pod is sent to it, or waits for it. */
export interface PodSelection {
  /** Pods that request one of these resources. */
  readonly resources?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  readonly namespaces?: readonly string[]
}

/**
 * A plugin of the scheduler, which a file exports as `default`. Each method is an extension point of the scheduling
 * framework, and may be async; objects that it gets are frozen. Source: kube-scheduler framework/interface.go.
 */
export interface SchedulerPlugin<Args = unknown> {
  /** Letters, digits and hyphens: as in the KubeSchedulerConfiguration, in reasons and in the log. */
  readonly name: string
  /** The pods that concern the plugin; all unless given. */
  readonly pods?: PodSelection
  /** Weight of the score, unless the KubeSchedulerConfiguration has one; 1 by default. */
  readonly weight?: number
  /** After which events pods that the plugin refused are tried again; all unless given. */
  readonly events?: readonly SchedulingEvent[]
  /** Whether pods are scheduled as without the plugin where it fails; false unless given: then they wait for it. */
  readonly ignorable?: boolean
  /** How long one call may take: `{ filter: "200ms", permit: "5m" }`. 1s by default; 30s for preBind, bind and permit. */
  readonly deadlines?: Readonly<Partial<Record<ExtensionPoint, string>>>
  /** Checks the arguments of a profile when the server starts. @throws Error to refuse them */
  configure?(args: Args): Answer<void>
  /** Whether the pod may enter the queue; asked again when it, or the cluster (`events`), has changed. */
  preEnqueue?(pod: Pod): Answer<Verdict>
  /** Returns what orders the queue: pods with smaller keys come first, and equal ones by priority. */
  queueSort?(pod: Pod): Answer<number | string | readonly (number | string)[]>
  /** Whether an event may make a pod schedulable that the plugin has refused; true unless given. */
  queueingHint?(pod: Pod, event: { readonly event: SchedulingEvent; readonly object?: unknown }): Answer<boolean>
  /** Refuses the pod, or narrows the nodes down, or does neither. */
  preFilter?(pod: Pod, cycle: Cycle<Args>): Answer<Verdict | { readonly nodes: readonly string[] }>
  filter?(pod: Pod, node: NodeView, cycle: Cycle<Args>): Answer<Verdict>
  /** Called when no node fits; may name a node to wait for. `refused` are the reasons by node. */
  postFilter?(
    pod: Pod,
    refused: Readonly<Record<string, Refusal>>,
    cycle: Cycle<Args>,
  ): Answer<undefined | void | { readonly nominate: string }>
  /** Called with the nodes that fit, before they are scored. "skip" leaves the plugin's score out for this pod. */
  preScore?(pod: Pod, nodes: readonly NodeView[], cycle: Cycle<Args>): Answer<undefined | void | "skip">
  /** Returns a number, the higher the better: from 0 to 100, or any where `normalize` scales it. */
  score?(pod: Pod, node: NodeView, cycle: Cycle<Args>): Answer<number>
  /** Scales the scores of all nodes to 0 … 100; `scale` and `scaleDown` do. */
  normalize?(scores: ReadonlyMap<string, number>, cycle: Cycle<Args>): Answer<ReadonlyMap<string, number>>
  /** Keeps what the pod gets on its node. @throws Error where the node does not have it any more */
  reserve?(pod: Pod, node: NodeView, cycle: Cycle<Args>): Answer<void>
  /** Gives it back because the pod is not bound after all. */
  unreserve?(pod: Pod, node: NodeView, cycle: Cycle<Args>): Answer<void>
  /** Whether the pod may be bound; a promise that is not settled holds the pod back, as for the rest of its group. */
  permit?(pod: Pod, node: NodeView, cycle: Cycle<Args>): Answer<Verdict>
  /** Makes ready what the pod needs on its node. @throws Error: the pod is tried again */
  preBind?(pod: Pod, node: NodeView, cycle: Cycle<Args>): Answer<void>
  /** Binds the pod itself, and returns true; anything else leaves that to the next plugin. */
  bind?(pod: Pod, node: NodeView, cycle: Cycle<Args>): Answer<boolean | undefined | void>
  /** Told that the pod was bound. */
  postBind?(pod: Pod, node: NodeView, cycle: Cycle<Args>): Answer<void>
}

/** Returns the plugin itself: the editor then knows the types of its methods. */
export const definePlugin = <Args = unknown>(plugin: SchedulerPlugin<Args>): SchedulerPlugin<Args> => plugin

/** Scales scores so that the largest is 100. */
export const scale = (scores: ReadonlyMap<string, number>): ReadonlyMap<string, number> => scaledBy(scores, false)

/** Scales scores so that the largest is 0 and a score of 0 is 100: for counts of what is to be avoided. */
export const scaleDown = (scores: ReadonlyMap<string, number>): ReadonlyMap<string, number> => scaledBy(scores, true)

function scaledBy(scores: ReadonlyMap<string, number>, reverse: boolean): ReadonlyMap<string, number> {
  let most = 0
  for (const score of scores.values()) most = Math.max(most, score)
  return new Map(
    [...scores].map(([node, score]) => {
      const scaled = most === 0 ? 0 : Math.floor((score * 100) / most)
      return [node, reverse ? 100 - scaled : scaled]
    }),
  )
}
