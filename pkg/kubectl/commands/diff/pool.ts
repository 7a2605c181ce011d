/** Runs work beside other work, so many at once. */
export class Pool {
  readonly #most: number
  readonly #running = new Set<Promise<void>>()
  #failure: { readonly err: unknown } | undefined

  constructor(most: number) {
    this.#most = Math.max(1, most)
  }

  /** Resolves when the work has begun, or at once with its end where one runs after another. */
  async run(work: () => Promise<void>): Promise<void> {
    if (this.#most === 1) return work()
    while (this.#running.size >= this.#most) await Promise.race(this.#running)
    const running = work()
      .catch((err: unknown) => void (this.#failure ??= { err }))
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Resolves when all work has ended. @throws the first error */
  async ended(): Promise<void> {
    await Promise.all(this.#running)
    if (this.#failure !== undefined) throw this.#failure.err
  }
}
