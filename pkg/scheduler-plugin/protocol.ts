/** What the scheduler asks of a plugin, and what comes back: values that JSON can hold. */
import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { ExtensionPoint } from "./extension-points.ts"
import type { NodeView, PodSelection, Refusal, SchedulingEvent } from "./plugin.ts"

/** What the scheduler knows of a plugin. */
export interface PluginDescription {
  readonly name: string
  /** The extension points whose methods the plugin has. */
  readonly points: readonly ExtensionPoint[]
  readonly hints: boolean
  readonly pods: PodSelection
  readonly weight: number
  /** Undefined for all events. */
  readonly events: readonly SchedulingEvent[] | undefined
  readonly ignorable: boolean
  /** Milliseconds. */
  readonly deadlines: Readonly<Partial<Record<ExtensionPoint, number>>>
}

/** An attempt to schedule a pod. */
export interface Attempt {
  /** Names the attempt: the pod's UID, and how often it was tried. */
  readonly key: string
  readonly pod: Pod
  readonly args: unknown
}

export type PluginRequest =
  | { readonly call: "configure"; readonly args: unknown }
  | { readonly call: "preEnqueue" | "queueSort"; readonly pod: Pod }
  | { readonly call: "queueingHint"; readonly pod: Pod; readonly event: SchedulingEvent; readonly object?: unknown }
  /** preFilter and filter. `instead` are nodes as they would be without the pods that preemption would end. */
  | {
      readonly call: "filter"
      readonly attempt: Attempt
      readonly nodes: readonly string[]
      readonly points: readonly ExtensionPoint[]
      readonly instead?: readonly NodeView[]
    }
  | { readonly call: "postFilter"; readonly attempt: Attempt; readonly refused: Readonly<Record<string, Refusal>> }
  /** preScore, score and normalize. */
  | {
      readonly call: "score"
      readonly attempt: Attempt
      readonly nodes: readonly string[]
      readonly points: readonly ExtensionPoint[]
    }
  | {
      readonly call: "reserve" | "unreserve" | "permit" | "preBind" | "bind" | "postBind"
      readonly attempt: Attempt
      readonly node: string
    }
  /** The attempt has ended: its notes can go. */
  | { readonly call: "end"; readonly key: string }

/** The answer to `filter`: the nodes that do not fit. A refusal of preFilter is that of all nodes. */
export interface FilterAnswer {
  readonly refused: Readonly<Record<string, Refusal>>
  readonly preFilter?: Refusal
}
/** The answer to `score`: from 0 to 100 by node; undefined where the plugin has left its score out. */
export type ScoreAnswer = Readonly<Record<string, number>> | undefined

/** What has changed of the nodes since the last message. */
export interface NodesChange {
  readonly nodes: readonly NodeChange[]
  /** Names of nodes that are gone. */
  readonly gone: readonly string[]
}
export interface NodeChange extends Pick<NodeView, "name" | "allocatable" | "requested"> {
  /** Undefined where the Node itself has not changed. */
  readonly node?: NodeView["node"] | undefined
  /** Pods that are new on the node, or have changed. */
  readonly pods: readonly Pod[]
  /** UIDs of pods that are gone. */
  readonly gone: readonly string[]
}
