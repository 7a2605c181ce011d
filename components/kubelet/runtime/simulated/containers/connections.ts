/** The open connections of a container. */
export class Connections {
  readonly #open = new Set<() => void>()
  #drained: (() => void) | undefined

  /** Adds a connection. `broken` is called when the container ends before it. Returns a function that closes it. */
  add(broken: () => void): () => void {
    // A function of its own for each connection, as callers may pass the same one twice.
    const connection = (): void => broken()
    this.#open.add(connection)
    return () => {
      this.#open.delete(connection)
      if (this.#open.size === 0) this.#drained?.()
    }
  }

  /** Calls `drained` once no connection is open, at once where none is. */
  whenDrained(drained: () => void): void {
    if (this.#open.size === 0) drained()
    else this.#drained = drained
  }

  /** Breaks all connections. */
  break(): void {
    this.#drained = undefined
    const open = [...this.#open]
    this.#open.clear()
    for (const broken of open) broken()
  }
}
