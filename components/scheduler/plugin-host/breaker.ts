import type { Clock } from "../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { PluginError } from "./plugin-host.ts"

/** Told of each question, with its duration in milliseconds. */
export type Asked = (point: string, status: "Success" | "Error", milliseconds: number) => void

/** So many failures in a row, and the plugin is not asked for a while. */
const MOST_FAILURES = 3
const FIRST_PAUSE_MS = 5000
const LONGEST_PAUSE_MS = 60_000

/**
 * Does not ask a plugin or an extender for a while that hangs or dies each time: pods that need it fail at once, and it
 * costs nothing. Then it is asked again, and the next failure makes the next pause, twice as long. What a plugin throws
 * is no such failure.
 */
export class Breaker {
  readonly #name: string
  readonly #clock: Pick<Clock, "monotonic">
  readonly #log: Logger
  readonly #asked: Asked
  #failures = 0
  #until = 0
  #last: Error | undefined

  constructor(name: string, clock: Pick<Clock, "monotonic">, log: Logger, asked: Asked = () => undefined) {
    this.#name = name
    this.#clock = clock
    this.#log = log
    this.#asked = asked
  }

  /** @throws PluginError of the call, or because the plugin is not asked now */
  async through<T>(point: string, call: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonic()
    const left = this.#until - this.#clock.monotonic()
    if (left > 0)
      throw new PluginError(
        `${this.#name} is not asked for ${Math.ceil(left / 1000)}s, because it failed ${this.#failures} times: ` +
          errorMessage(this.#last),
        false,
      )
    try {
      const answer = await call()
      this.#failures = 0
      this.#asked(point, "Success", this.#clock.monotonic() - began)
      return answer
    } catch (err) {
      this.#asked(point, "Error", this.#clock.monotonic() - began)
      if (err instanceof PluginError && err.isFatal) this.#note(err)
      throw err
    }
  }

  #note(err: Error): void {
    // The end of a process fails all of its open questions with one error.
    if (err === this.#last) return
    this.#failures++
    this.#last = err
    if (this.#failures < MOST_FAILURES) return
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#failures - MOST_FAILURES))
    this.#until = this.#clock.monotonic() + pause
    this.#log.warn("A plugin or an extender of the scheduler is not asked for a while", {
      name: this.#name,
      seconds: pause / 1000,
      failures: this.#failures,
      err,
    })
  }
}
