import { errorMessage } from "../errors/error-message.ts"

/** Steps of which none keeps the next from being tried, and what went wrong in them. */
export class Attempts {
  readonly #faults: string[] = []

  /** What could not be done, and why, a line each. */
  get faults(): readonly string[] {
    return this.#faults
  }

  /** Runs a step; resolves to undefined where it fails. `what` is what stays then. */
  async try<T>(what: string, run: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await run()
    } catch (err) {
      this.#faults.push(`${what}: ${errorMessage(err)}`)
      return undefined
    }
  }
}
