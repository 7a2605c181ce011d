import type { Tools } from "../../components/cluster/clients.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { outsideSpans } from "../../pkg/tracing/clock.ts"
import type { Tracing } from "../../pkg/tracing/tracing.ts"

/** What all parts of the program share. */
export interface Context extends Tools {
  /** Rejects with the first failure of background work, which ends the program. */
  readonly failed: Promise<never>
}

/** Creates the context with the system's time and random numbers. */
export function createContext(log: Logger): Context {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => undefined) // the code that runs the components awaits it too
  return {
    clock: realClock,
    random: systemRandom,
    log,
    failed,
    spawn(name, run) {
      run().catch((err: unknown) => {
        log.error("Background work failed", { work: name, err, stack: err instanceof Error ? err.stack : undefined })
        reject(new Error(`${name} failed: ${err instanceof Error ? err.message : String(err)}`, { cause: err }))
      })
    },
  }
}

/** Returns a context by which all parts of the program trace what they do. */
export const withTracing = (context: Context, tracing: Tracing): Context => ({
  ...context,
  clock: outsideSpans(context.clock, tracing),
  tracing,
})
