import type { NodeInfo } from "./node-info.ts"

/** A value for each node, cached until the node changes. A lookup only reads arrays. */
export class PerNode<T> {
  /** By `NodeInfo.index`. Removing a node moves others, so each entry names its node. */
  readonly #nodes: (NodeInfo | undefined)[] = []
  readonly #generations: number[] = []
  readonly #values: (T | undefined)[] = []

  /** Undefined when nothing was cached since the node changed. */
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

/** Most cached groups of pods. The group that was used longest ago is dropped. */
const MOST_GROUPS = 32

/** Longer texts are not cached: they contain what users wrote, and each may be as long as a pod. */
const LONGEST_TEXT = 65_536

/** Cached values of groups of pods, by a text that identifies the group. */
export class RecentGroups<T> {
  readonly #byText = new Map<string, T>()

  of(text: string, make: () => T): T {
    if (text.length > LONGEST_TEXT) return make()
    const known = this.#byText.get(text)
    if (known === undefined) {
      if (this.#byText.size >= MOST_GROUPS) this.#byText.delete(this.#byText.keys().next().value!)
    } else this.#byText.delete(text)
    const found = known ?? make()
    this.#byText.set(text, found) // the one used last stands last
    return found
  }
}
