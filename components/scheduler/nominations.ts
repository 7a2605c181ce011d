import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"

/**
 * Pods for which preemption makes room on a node (`status.nominatedNodeName`), by node. Other pods are placed as if the
 * nominated pods were on their nodes already. Source: pkg/scheduler/backend/queue/nominator.go.
 */
export class Nominations {
  readonly #byNode = new Map<string, readonly Pod[]>()

  /** Returns the pods nominated to a node, in the order of their nomination. */
  of(node: { readonly name: string }): readonly Pod[] | undefined {
    return this.#byNode.size === 0 ? undefined : this.#byNode.get(node.name)
  }

  /** Returns the node that a pod is nominated to. */
  nodeOf(pod: Pod): string | undefined {
    for (const [node, pods] of this.#byNode)
      if (pods.some(({ metadata }) => metadata.uid === pod.metadata.uid)) return node
    return undefined
  }

  /** Nominates the pod to `node` only. */
  nominate(pod: Pod, node: string): void {
    this.remove(pod)
    this.#byNode.set(node, [...(this.#byNode.get(node) ?? []), pod])
  }

  remove(pod: Pod): void {
    for (const [node, pods] of this.#byNode) {
      const left = pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid)
      if (left.length === 0) this.#byNode.delete(node)
      else if (left.length !== pods.length) this.#byNode.set(node, left)
    }
  }
}
