import type { Tools } from "../../components/cluster/clients.ts"
import { containingClock } from "../../pkg/clock/containing.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { backgroundWork } from "../../pkg/component/background-work.ts"
import { contain, type Place } from "../../pkg/failure/contain.ts"
import { FatalError } from "../../pkg/failure/fatal-error.ts"
import type { LogFields, Logger } from "../../pkg/log/log.ts"
import { outsideSpans } from "../../pkg/tracing/clock.ts"
import type { Tracing } from "../../pkg/tracing/tracing.ts"

/** What all parts of the program share. */
export interface Context extends Tools {
  /** Rejects with the first error that ends the program. */
  readonly failed: Promise<never>
  /** Contains an error that came to `place`; one that nothing may contain ends the program. */
  note(place: Place, err: unknown, fields?: LogFields): void
}

/** Creates the context with the system's time and random numbers. */
export function createContext(log: Logger): Context {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => undefined) // the code that runs the components awaits it too
  const note = (place: Place, err: unknown, fields: LogFields = {}): void => {
    if (!(err instanceof FatalError)) return contain(place, err, log, fields)
    log.error("Cannot go on; the program ends", { ...fields, err, stack: (err.cause as Error | undefined)?.stack })
    reject(err)
  }
  const clock = containingClock(realClock, (err) => note("timer", err))
  return {
    clock,
    random: systemRandom,
    log,
    failed,
    note,
    spawn: backgroundWork({
      clock,
      failed(work, err) {
        note("background work", err, { work })
        return !(err instanceof FatalError)
      },
    }),
  }
}

/** Returns a context by which all parts of the program trace what they do. */
export const withTracing = (context: Context, tracing: Tracing): Context => ({
  ...context,
  clock: outsideSpans(context.clock, tracing),
  tracing,
})
