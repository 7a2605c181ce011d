import { deepFreeze } from "../apimachinery/json/deep-freeze.ts"
import type { Pod } from "../api/core/v1/pod/pod.ts"
import type { NodeView } from "./plugin.ts"
import type { NodesChange } from "./protocol.ts"

/** The nodes as the plugin sees them, kept up to date by changes. */
export class NodeMirror {
  readonly #nodes = new Map<string, { view: NodeView; readonly pods: Map<string, Pod> }>()
  #list: readonly NodeView[] | undefined

  get list(): readonly NodeView[] {
    return (this.#list ??= Object.freeze([...this.#nodes.values()].map(({ view }) => view)))
  }

  get(name: string): NodeView | undefined {
    return this.#nodes.get(name)?.view
  }

  apply({ nodes, gone }: NodesChange): void {
    for (const name of gone) this.#nodes.delete(name)
    for (const { name, node, pods, gone, allocatable, requested } of nodes) {
      const known = this.#nodes.get(name)
      const here = known?.pods ?? new Map<string, Pod>()
      for (const uid of gone) here.delete(uid)
      for (const pod of pods) here.set(pod.metadata.uid ?? "", deepFreeze(pod))
      const current = node === undefined ? known?.view.node : deepFreeze(node)
      if (current === undefined) continue
      const view = Object.freeze({
        name,
        node: current,
        pods: Object.freeze([...here.values()]),
        allocatable: deepFreeze(allocatable),
        requested: deepFreeze(requested),
      })
      this.#nodes.set(name, { view, pods: here })
    }
    this.#list = undefined
  }
}
