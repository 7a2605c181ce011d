/** What is wrong with one simulated node. Changed by tests, looked at by its runtime. */
export class NodeFaults {
  /** Everything the runtime does takes this many times as long, and what takes no time takes so many milliseconds less one. */
  slowness = 1
  /** The node is off: nothing answers. */
  off = false
  /** Other nodes and the API server cannot reach it, nor it them. */
  partitioned = false
  readonly shortage = { memory: false, disk: false }
  readonly #pulls: { readonly matches: (image: string) => boolean; readonly message: string }[] = []

  /** Makes pulls fail; returns what ends that. */
  failPulls(matches: (image: string) => boolean, message: string): () => void {
    const rule = { matches, message }
    this.#pulls.push(rule)
    return () => void this.#pulls.splice(this.#pulls.indexOf(rule) >>> 0, 1)
  }

  pullFailure(image: string): string | undefined {
    return this.#pulls.find(({ matches }) => matches(image))?.message
  }
}
