import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"

/**
 * Pods for which preemption makes room on a node (`status.nominatedNodeName`), by node. Other pods are placed as if the
 * nominated pods were on their nodes already. Source: pkg/scheduler/backend/queue/nominator.go.
 */
export class Nominations {
  readonly #byNode = new Map<string, readonly Pod[]>()
  /** The node of each nominated pod, by the pod's UID. */
  readonly #nodes = new Map<string, string>()

  /** Returns the pods nominated to a node, in the order of their nomination. */
  of(node: { readonly name: string }): readonly Pod[] | undefined {
    return this.#byNode.size === 0 ? undefined : this.#byNode.get(node.name)
  }

  /** Returns the node that a pod is nominated to. */
  nodeOf({ metadata }: Pod): string | undefined {
    return this.#nodes.get(metadata.uid ?? "")
  }

  /** Nominates the pod to `node` only. */
  nominate(pod: Pod, node: string): void {
    this.remove(pod)
    this.#byNode.set(node, [...(this.#byNode.get(node) ?? []), pod])
    this.#nodes.set(pod.metadata.uid ?? "", node)
  }

  /**
   * Follows a change of a waiting pod: of its nomination, or of anything else. A pod whose status has named no node
   * before and after stays nominated: the status is written after the nomination. Source: UpdateNominatedPod.
   */
  update(pod: Pod, old: Pod | undefined): void {
    const named = pod.status.nominatedNodeName || old?.status.nominatedNodeName
    const node = named ? pod.status.nominatedNodeName : this.nodeOf(pod)
    if (node) this.nominate(pod, node)
    else this.remove(pod)
  }

  remove({ metadata: { uid = "" } }: Pod): void {
    const node = this.#nodes.get(uid)
    if (node === undefined) return
    this.#nodes.delete(uid)
    const left = this.#byNode.get(node)!.filter(({ metadata }) => metadata.uid !== uid)
    if (left.length === 0) this.#byNode.delete(node)
    else this.#byNode.set(node, left)
  }
}
