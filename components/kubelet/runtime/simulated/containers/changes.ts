/** Who wants to hear of changes of sandboxes and of their containers. Most sandboxes have no listener. */
export class SandboxChanges {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** Calls `listener` at each change of the sandbox. Returns a function that ends this. */
  on(sandboxId: string, listener: () => void): () => void {
    const known = this.#listeners.get(sandboxId)
    const listeners = known ?? new Set()
    if (known === undefined) this.#listeners.set(sandboxId, listeners)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(sandboxId) === listeners) this.#listeners.delete(sandboxId)
    }
  }

  /** Called when something of the sandbox has changed. */
  tell(sandboxId: string): void {
    for (const listener of [...(this.#listeners.get(sandboxId) ?? [])]) listener()
  }

  /** Called when something of the machine has changed. */
  tellAll(): void {
    for (const sandboxId of [...this.#listeners.keys()]) this.tell(sandboxId)
  }
}
