/** Lets one writer at a time use each key; other writers wait in the order in which they came. */
export class KeyQueue {
  readonly #last = new Map<string, Promise<void>>()

  /**
   * Queues for all these keys at once, so that no two writers wait for each other. `turn` resolves when all keys are
   * free; it is undefined if they are free already.
   */
  enter(keys: readonly string[]): { readonly turn: Promise<unknown> | undefined; leave(): void } {
    const before = keys.flatMap((key) => this.#last.get(key) ?? [])
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const key of keys) this.#last.set(key, promise)
    return {
      turn: before.length === 0 ? undefined : Promise.all(before),
      leave: () => {
        for (const key of keys) if (this.#last.get(key) === promise) this.#last.delete(key)
        resolve()
      },
    }
  }
}
