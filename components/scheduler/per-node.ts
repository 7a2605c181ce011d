import type { NodeInfo } from "./node-info.ts"

/** A value worked out for each node, kept until the node changes. Looking one up is two reads of an array. */
export class PerNode<T> {
  /** By `NodeInfo.index`; removing a node moves the others, which is why each entry says whose it is. */
  readonly #nodes: (NodeInfo | undefined)[] = []
  readonly #generations: number[] = []
  readonly #values: (T | undefined)[] = []

  /** Undefined when nothing was kept since the node changed. */
  get(node: NodeInfo): T | undefined {
    const { index } = node
    return this.#nodes[index] === node && this.#generations[index] === node.generation ? this.#values[index] : undefined
  }

  set(node: NodeInfo, value: T): void {
    const { index } = node
    this.#nodes[index] = node
    this.#generations[index] = node.generation
    this.#values[index] = value
  }
}

/** So many kinds of pods are known at a time. Pods come in groups; the group that came last longest ago makes way. */
const MOST_GROUPS = 32

/** What is kept for pods of a group, by a text that stands for the group. */
export class RecentGroups<T> {
  readonly #byText = new Map<string, T>()

  of(text: string, make: () => T): T {
    const known = this.#byText.get(text)
    if (known === undefined) {
      if (this.#byText.size >= MOST_GROUPS) this.#byText.delete(this.#byText.keys().next().value!)
    } else this.#byText.delete(text)
    const found = known ?? make()
    this.#byText.set(text, found) // the one used last stands last
    return found
  }
}
