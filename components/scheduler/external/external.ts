import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ExtensionPoint } from "../../../pkg/scheduler-plugin/extension-points.ts"
import type { Plugin, Status } from "../framework.ts"
import type { NodeInfo } from "../node-info.ts"
import type { Candidate } from "../preemption.ts"

/** An attempt to schedule a pod, of which the parts outside of the scheduler's turn are told. */
export interface Attempt {
  /** The pod's UID, and how often it was tried. */
  readonly key: string
  readonly pod: Pod
}

/** What an external says about nodes. */
export interface Filtered {
  /** By the names of the nodes that do not fit. */
  readonly refused: ReadonlyMap<string, Status>
  /** Set where the pod is refused as a whole. */
  readonly preFilter?: Status | undefined
}

/**
 * Decides about pods outside of the scheduler's turn, and so later: a plugin of one's own in its process, or an
 * extender behind HTTP. Each method rejects with an Error whose message names who failed, and how.
 */
export interface External {
  readonly name: string
  /** What the queue knows of it: the events that wake the pods it has refused, and whether pods may enter. */
  readonly queueing: Plugin
  /** Whether pods are scheduled as without it where it fails. */
  readonly ignorable: boolean
  /** Whether it filters all nodes, or as many as are scored. */
  readonly sees: "all" | "enough"
  /** Whether it has a say about the pod. All other pods never wait for it. */
  concerns(pod: Pod): boolean
  /** Whether it is asked at an extension point. */
  does(point: ExtensionPoint): boolean
  /** `instead` is a node as it would be without the pods that preemption would end. */
  filter(attempt: Attempt, nodes: readonly NodeInfo[], instead?: NodeInfo): Promise<Filtered>
  /** Returns what is added to the scores of nodes: its own, from 0 to 100, multiplied with its weight. */
  score(attempt: Attempt, nodes: readonly NodeInfo[]): Promise<ReadonlyMap<string, number>>
  /** Returns the node to nominate for a pod that fits none. */
  postFilter(attempt: Attempt, refused: ReadonlyMap<string, Status>): Promise<string | undefined>
  /** Returns the candidates of preemption that it accepts; undefined where it does not care. */
  preempt?(attempt: Attempt, candidates: readonly Candidate[]): Promise<readonly Candidate[]>
  reserve(attempt: Attempt, node: string): Promise<void>
  unreserve(attempt: Attempt, node: string): Promise<void>
  /** Resolves when the pod may be bound, or with why it may not. */
  permit(attempt: Attempt, node: string): Promise<Status>
  preBind(attempt: Attempt, node: string): Promise<void>
  /** Returns whether it has bound the pod. */
  bind(attempt: Attempt, node: string): Promise<boolean>
  postBind(attempt: Attempt, node: string): Promise<void>
  /** Called once when the attempt has ended, however it has. */
  ended(attempt: Attempt): void
}
