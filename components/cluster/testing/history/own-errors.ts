import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { FAILED_AGAIN } from "../../../../pkg/controller/start.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { LogFields, Logger } from "../../../../pkg/log/log.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { Moment } from "../report/moment.ts"

/** How many errors a message has. */
const SHOWN = 3
/** How many keys are remembered: a controller may fail for thousands. */
const REMEMBERED = 50

interface OwnError {
  readonly who: string
  readonly said: string
  /** When it was logged last, in milliseconds since the epoch. */
  last: number
  count: number
}

/**
 * The errors that the test's own controllers have logged. A controller that fails is run again later, so its test sees
 * only that nothing happens. Errors about waits that took too long therefore end with these.
 */
export class OwnErrors {
  /** By controller, key and words; the one that was logged last is at the end. */
  readonly #errors = new Map<string, OwnError>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns a logger that writes to `log`, and notes errors. */
  noting(log: Logger, inherited: LogFields = {}): Logger {
    const noted =
      (level: "warn" | "error") =>
      (message: string, fields: LogFields = {}) => {
        this.#note(message, { ...inherited, ...fields })
        log[level](message, fields)
      }
    return {
      debug: (message, fields = {}) => {
        if (message === FAILED_AGAIN) this.#note(message, { ...inherited, ...fields })
        log.debug(message, fields)
      },
      info: (message, fields) => log.info(message, fields),
      warn: noted("warn"),
      error: noted("error"),
      child: (fields) => this.noting(log.child(fields), { ...inherited, ...fields }),
    }
  }

  /** Returns a line for each of the last errors, the newest first; none while nothing failed. */
  inWords(): readonly string[] {
    const errors = [...this.#errors.values()].toReversed()
    const more = errors.length - SHOWN
    return [
      ...errors.slice(0, SHOWN).map(inWords),
      ...(more > 0 ? [`and ${more} more errors of controllers of the test`] : []),
    ]
  }

  /** Returns the errors with the time of their last one. */
  moments(): readonly Moment[] {
    return [...this.#errors.values()].map((error) => ({
      time: error.last,
      isTrouble: true,
      isOfTest: true,
      who: "test",
      what: inWords(error),
    }))
  }

  #note(message: string, { controller, key, err }: LogFields): void {
    if (err === undefined) return
    const who = controller === undefined ? message : `controller ${String(controller)}, ${String(key ?? message)}`
    const said = inShort(err)
    const id = JSON.stringify([who, said])
    const count = (this.#errors.get(id)?.count ?? 0) + 1
    this.#errors.delete(id)
    this.#errors.set(id, { who, said, count, last: this.#clock.now() })
    if (this.#errors.size > REMEMBERED) this.#errors.delete(this.#errors.keys().next().value!)
  }
}

const inWords = ({ who, said, count }: OwnError): string =>
  `${who}${count > 1 ? ` has failed ${count} times` : " has failed"}: ${said}`

/** Returns the error, and for one of the code itself the line that threw it. */
function inShort(err: unknown): string {
  if (!(err instanceof Error) || err instanceof ApiError) return errorMessage(err)
  const line = (err.stack ?? "").split("\n").find((frame) => /^\s*at /.test(frame))
  return `${err.name}: ${err.message}${line === undefined ? "" : `\n    ${line.trim()}`}`
}
