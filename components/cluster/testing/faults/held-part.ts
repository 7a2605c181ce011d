/** A part that can be taken away at once and started anew. */
export interface Restartable {
  crash(): Promise<void>
  start(): Promise<void>
}

/**
 * A part that faults take away, of which several may be there at a time: it is gone from the beginning of the first to
 * the end of the last.
 */
export class HeldPart {
  readonly #part: Restartable
  #holds = 0
  #going = Promise.resolve()
  #goes: () => void = () => {}

  constructor(part: Restartable) {
    this.#part = part
  }

  /** Resolves when the part is gone. */
  async hold(): Promise<void> {
    if (this.#holds++ === 0) {
      this.#goes()
      this.#going = this.#part.crash()
    }
    await this.#going
  }

  /** Resolves when the part runs again, or is kept away by another fault. */
  async release(): Promise<void> {
    if (--this.#holds > 0) return
    await this.#going
    if (this.#holds > 0) return
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    this.#goes = resolve
    const starting = this.#part.start()
    // What is taken away while it starts fails at that, or never ends it.
    starting.catch(() => undefined)
    await Promise.race([starting, gone])
  }
}
