/**
 * Runs tasks with the same key one after the other: of the pods that wait for the same externals, each is decided when
 * the one before has its node, so that the externals see it. Pods with other externals, or with none, do not wait.
 */
export class Lanes {
  readonly #ends = new Map<string, Promise<void>>()

  /** Runs the task when those before it have ended. It must not reject. */
  run(key: string, task: () => Promise<void>): Promise<void> {
    const before = this.#ends.get(key)
    const end = before === undefined ? task() : before.then(task)
    this.#ends.set(key, end)
    return end.finally(() => {
      if (this.#ends.get(key) === end) this.#ends.delete(key)
    })
  }
}
