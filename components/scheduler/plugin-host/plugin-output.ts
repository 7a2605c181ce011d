import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"

/** Most lines in a second, and most characters of a line: what comes beyond is dropped and counted. */
const MOST_LINES = 20
const LONGEST_LINE = 2000

/** Writes what a plugin prints into the server's log, as far as a log may grow by it. */
export class PluginOutput {
  readonly #name: () => string
  readonly #clock: Pick<Clock, "monotonic">
  readonly #log: Logger
  #rest = ""
  #since = -Infinity
  #lines = 0
  #dropped = 0

  constructor(name: () => string, clock: Pick<Clock, "monotonic">, log: Logger) {
    this.#name = name
    this.#clock = clock
    this.#log = log
  }

  take(data: Buffer): void {
    const lines = (this.#rest + data.toString("utf8")).split("\n")
    this.#rest = lines.pop()!.slice(0, LONGEST_LINE)
    for (const line of lines) this.#write(line.slice(0, LONGEST_LINE))
  }

  #write(line: string): void {
    const now = this.#clock.monotonic()
    if (now - this.#since >= 1000) {
      if (this.#dropped > 0)
        this.#log.warn("A scheduler plugin printed more than its share", { plugin: this.#name(), lines: this.#dropped })
      this.#since = now
      this.#lines = 0
      this.#dropped = 0
    }
    if (++this.#lines > MOST_LINES) this.#dropped++
    else if (line.trim() !== "") this.#log.info("A scheduler plugin printed", { plugin: this.#name(), line })
  }
}
