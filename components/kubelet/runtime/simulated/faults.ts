/** What is wrong with one simulated node. Changed by tests, looked at by its runtime. */
export class NodeFaults {
  /** The node is off: nothing answers. */
  off = false
  /** Other nodes and the API server cannot reach it, nor it them. */
  partitioned = false
  readonly #slowness: number[] = []
  readonly #shortages: ("memory" | "disk")[] = []
  readonly #pulls: { readonly matches: (image: string) => boolean; readonly message: string }[] = []

  /** Everything the runtime does takes this many times as long, and what takes no time takes so many milliseconds less one. Of several causes the worst counts. */
  get slowness(): number {
    return Math.max(1, ...this.#slowness)
  }
  get shortage(): { readonly memory: boolean; readonly disk: boolean } {
    return { memory: this.#shortages.includes("memory"), disk: this.#shortages.includes("disk") }
  }

  /** Makes the node slow; returns what ends that. */
  slowDown(factor: number): () => void {
    return added(this.#slowness, factor)
  }

  /** Lets nothing be left of a resource; returns what ends that. */
  runShort(of: "memory" | "disk"): () => void {
    return added(this.#shortages, of)
  }

  /** Makes pulls fail; returns what ends that. */
  failPulls(matches: (image: string) => boolean, message: string): () => void {
    return added(this.#pulls, { matches, message })
  }

  pullFailure(image: string): string | undefined {
    return this.#pulls.find(({ matches }) => matches(image))?.message
  }
}

/** Adds one of perhaps several equal causes; returns what takes it away again. */
function added<T>(causes: T[], cause: T): () => void {
  causes.push(cause)
  return () => {
    const at = causes.indexOf(cause)
    if (at >= 0) causes.splice(at, 1)
  }
}
