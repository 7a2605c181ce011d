import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Amounts } from "../../../pkg/api/core/v1/pod/resources/pod-requests.ts"
import type { NodeView, ResourceAmounts } from "../../../pkg/scheduler-plugin/plugin.ts"
import type { NodeChange, NodesChange } from "../../../pkg/scheduler-plugin/protocol.ts"
import type { NodeInfo } from "../node-info.ts"

interface Sent {
  readonly info: NodeInfo
  generation: number
  replacements: number
  node: Node
  readonly pods: Map<string, Pod>
}

/** Most nodes in one message: a large cluster is sent in several turns of the event loop. */
export const MOST_NODES = 100

/** Finds what a plugin does not know yet of the nodes, so that only that is sent to it. */
export class NodeFeed {
  readonly #sent = new Map<string, Sent>()

  /** Returns what has changed, of at most MOST_NODES nodes; undefined for nothing. `isAll`: nothing else has. */
  next(list: readonly NodeInfo[]): { readonly change: NodesChange; readonly isAll: boolean } | undefined {
    const nodes: NodeChange[] = []
    let isAll = true
    for (const info of list) {
      const sent = this.#sent.get(info.name)
      if (
        sent?.info === info &&
        sent.generation === info.generation &&
        sent.replacements === info.replacements &&
        sent.node === info.node
      )
        continue
      if (nodes.length === MOST_NODES) {
        isAll = false
        break
      }
      const change = this.#changeOf(info, sent)
      if (change !== undefined) nodes.push(change)
    }
    // All nodes of the list are known now, so that there are more only where some are gone.
    const gone = isAll && this.#sent.size > list.length ? this.#gone(list) : []
    return nodes.length === 0 && gone.length === 0 ? undefined : { change: { nodes, gone }, isAll }
  }

  /** Undefined where nothing that plugins see has changed, as by a heartbeat. */
  #changeOf(info: NodeInfo, sent: Sent | undefined): NodeChange | undefined {
    // The plugin still has the pods of a node that was deleted and created again since the last message.
    const known = sent?.pods ?? new Map<string, Pod>()
    const before = sent?.info === info ? sent : undefined
    const pods: Pod[] = []
    for (const [uid, pod] of info.pods) {
      const old = known.get(uid)
      if (old === undefined || looksOther(pod, old)) pods.push(pod)
    }
    const gone = [...known.keys()].filter((uid) => !info.pods.has(uid))
    const isNew = before === undefined || nodeLooksOther(info.node, before.node)
    const isCounted = before?.generation !== info.generation
    this.#sent.set(info.name, {
      info,
      generation: info.generation,
      replacements: info.replacements,
      node: info.node,
      pods: new Map(info.pods),
    })
    if (!isNew && !isCounted && pods.length === 0 && gone.length === 0) return undefined
    const { name, allocatable, requested } = viewOf(info)
    return {
      name,
      ...(isNew ? { node: shownNode(info.node) } : {}),
      pods: pods.map(shownPod),
      gone,
      allocatable,
      requested,
    }
  }

  #gone(list: readonly NodeInfo[]): readonly string[] {
    const names = new Set(list.map(({ name }) => name))
    const gone = [...this.#sent.keys()].filter((name) => !names.has(name))
    for (const name of gone) this.#sent.delete(name)
    return gone
  }
}

/** A node as plugins see it. */
export const viewOf = (info: NodeInfo): NodeView => ({
  name: info.name,
  node: shownNode(info.node),
  pods: [...info.pods.values()].map(shownPod),
  allocatable: amountsOf(info.allocatable),
  requested: amountsOf(info.requested),
})

const amountsOf = ({ cpu, memory, ephemeral, scalar }: Amounts): ResourceAmounts => ({
  cpu,
  memory,
  "ephemeral-storage": ephemeral,
  ...Object.fromEntries(scalar),
})

const looksOther = (a: Pod, b: Pod): boolean =>
  a !== b &&
  (a.spec !== b.spec ||
    a.metadata.labels !== b.metadata.labels ||
    a.metadata.annotations !== b.metadata.annotations ||
    a.metadata.deletionTimestamp !== b.metadata.deletionTimestamp)

const nodeLooksOther = (a: Node, b: Node): boolean =>
  a !== b &&
  (a.spec !== b.spec ||
    a.metadata.labels !== b.metadata.labels ||
    a.metadata.annotations !== b.metadata.annotations ||
    a.status.allocatable !== b.status.allocatable)

export function shownNode({ metadata: { managedFields: _fields, ...metadata }, status, ...rest }: Node): Node {
  const { images: _images, ...shown } = status
  return { ...rest, metadata, status: shown }
}

/** Without its status, which changes often, and is not what others go by. */
export function shownPod({ metadata: { managedFields: _fields, ...metadata }, spec, apiVersion, kind }: Pod): Pod {
  return { apiVersion, kind, metadata, spec, status: {} } as Pod
}

/** What has changed in the cluster, as plugins see it; undefined for what is neither a node nor a pod. */
export function shownObject(object: unknown): Node | Pod | undefined {
  if (typeof object !== "object" || object === null || !("kind" in object)) return undefined
  return object.kind === "Pod"
    ? shownPod(object as Pod)
    : object.kind === "Node"
      ? shownNode(object as Node)
      : undefined
}
