export type ComponentName = "apiserver" | "scheduler" | "controller-manager"

/** A part that can be stopped at once and started again. */
export interface Restartable {
  crash(): Promise<void>
  start(): Promise<void>
}

/**
 * A part that several faults can hold stopped at the same time: it is stopped when the first begins, and started again
 * when the last ends.
 */
export class HeldPart {
  readonly #part: Restartable
  #holds = 0
  #going = Promise.resolve()
  #goes: () => void = () => {}

  constructor(part: Restartable) {
    this.#part = part
  }

  /** Resolves when the part is stopped. */
  async hold(): Promise<void> {
    if (this.#holds++ === 0) {
      this.#goes()
      this.#going = this.#part.crash()
    }
    await this.#going
  }

  /** Resolves when the part runs again, or another fault holds it. */
  async release(): Promise<void> {
    if (--this.#holds > 0) return
    await this.#going
    if (this.#holds > 0) return
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    this.#goes = resolve
    const starting = this.#part.start()
    // A part that is stopped during its start may reject that start, or never settle it.
    starting.catch(() => undefined)
    await Promise.race([starting, gone])
  }
}
