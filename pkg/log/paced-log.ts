import { createHash } from "node:crypto"
import type { Clock } from "../clock/clock.ts"
import type { LogFields, Logger } from "./log.ts"

const MINUTE_MS = 60_000
/** Most subjects whose lines are counted; the one that was told longest ago is forgotten first. */
const MOST_SUBJECTS = 1000
/** Longer subjects are kept as their digest: a message in one can be as long as what users wrote. In characters. */
const LONGEST_KEY = 500

/**
 * Writes at most one line a minute about each subject, such as a webhook that fails at every request. The field `times`
 * says how often it has happened since the line before.
 */
export class PacedLog {
  readonly #clock: Pick<Clock, "monotonic">
  readonly #log: Pick<Logger, "warn">
  readonly #subjects = new Map<string, { readonly toldAt: number; since: number }>()

  constructor(clock: Pick<Clock, "monotonic">, log: Pick<Logger, "warn">) {
    this.#clock = clock
    this.#log = log
  }

  /** Returns whether a line was written. */
  warn(subject: string, message: string, fields: LogFields): boolean {
    const key = subject.length > LONGEST_KEY ? createHash("sha256").update(subject).digest("hex") : subject
    const known = this.#subjects.get(key)
    const now = this.#clock.monotonic()
    if (known !== undefined && now - known.toldAt < MINUTE_MS) {
      known.since++
      return false
    }
    this.#subjects.delete(key)
    this.#subjects.set(key, { toldAt: now, since: 0 })
    if (this.#subjects.size > MOST_SUBJECTS) this.#subjects.delete(this.#subjects.keys().next().value!)
    this.#log.warn(message, { ...fields, times: 1 + (known?.since ?? 0) })
    return true
  }
}
