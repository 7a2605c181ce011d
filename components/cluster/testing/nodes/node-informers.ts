import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { podsByNode } from "../../../../pkg/pods/pods-by-node.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Index, Informer, InformerHandlers, Informers, Key } from "../../../../pkg/client/informer.ts"

/**
 * Gives each node's kubelet its pods from one informer for all nodes: with many nodes, an informer each would process
 * every event once per node. A kubelet on a machine of its own would select by `spec.nodeName`, and see the same pods.
 */
export class PodsOfNodes {
  readonly #all: Informer<Pod>
  readonly #nodes = new Map<string, NodePods>()

  constructor(informers: Informers) {
    this.#all = informers.of(Pod)
    this.#all.on({
      added: (pod) => this.#node(pod)?.tell((handlers) => handlers.added?.(pod)),
      updated: (pod, old) => {
        const [now, before] = [this.#node(pod), this.#node(old)]
        if (now === before) now?.tell((handlers) => handlers.updated?.(pod, old))
        else {
          before?.tell((handlers) => handlers.deleted?.(old))
          now?.tell((handlers) => handlers.added?.(pod))
        }
      },
      deleted: (pod) => this.#node(pod)?.tell((handlers) => handlers.deleted?.(pod)),
    })
  }

  of(node: string): NodePods {
    let pods = this.#nodes.get(node)
    if (pods === undefined) this.#nodes.set(node, (pods = new NodePods(this.#all, node)))
    return pods
  }

  #node(pod: Pod): NodePods | undefined {
    return this.#nodes.get(pod.spec.nodeName ?? "")
  }
}

/** The pods of one node. While the node is partitioned, events are held back; they are delivered afterwards. */
export class NodePods implements Informer<Pod> {
  readonly resource = Pod
  readonly #all: Informer<Pod>
  readonly #name: string
  readonly #handlers = new Set<InformerHandlers<Pod>>()
  #held: ((handlers: InformerHandlers<Pod>) => void)[] | undefined

  constructor(all: Informer<Pod>, name: string) {
    this.#all = all
    this.#name = name
  }

  get synced(): boolean {
    return this.#all.synced
  }
  get revision(): number {
    return this.#all.revision
  }
  whenSynced(): Promise<void> {
    return this.#all.whenSynced()
  }
  get(key: Key): Pod | undefined {
    const pod = this.#all.get(key)
    return pod?.spec.nodeName === this.#name ? pod : undefined
  }
  list(namespace?: string): readonly Pod[] {
    const mine = this.#all.by(podsByNode, this.#name)
    return namespace === undefined ? mine : mine.filter(({ metadata }) => metadata.namespace === namespace)
  }
  by(index: Index<Pod>, value: string): readonly Pod[] {
    return this.list().filter((pod) => index.of(pod).includes(value))
  }
  controlledBy(owner: KubeObject): readonly Pod[] {
    return this.#all.controlledBy(owner).filter((pod) => pod.spec.nodeName === this.#name)
  }
  on(handlers: InformerHandlers<Pod>): () => void {
    this.#handlers.add(handlers)
    for (const pod of this.list()) handlers.added?.(pod)
    return () => void this.#handlers.delete(handlers)
  }

  tell(call: (handlers: InformerHandlers<Pod>) => void): void {
    if (this.#held !== undefined) this.#held.push(call)
    else for (const handlers of this.#handlers) call(handlers)
  }

  hold(): void {
    this.#held ??= []
  }
  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const call of held) this.tell(call)
  }
}

/** Returns the informers of one node's kubelet: with its own pods, and all objects of other kinds. */
export const informersOfNode = (shared: Informers, pods: NodePods): Informers => ({
  // Pod is the only kind that is restricted.
  of: <T extends KubeObject>(resource: Resource<T>): Informer<T> =>
    (resource as unknown) === Pod ? (pods as unknown as Informer<T>) : shared.of(resource),
  whenSynced: () => shared.whenSynced(),
  pending: () => shared.pending(),
  forget: (resource) => shared.forget(resource),
  stop() {},
})
