import { realClock } from "../../../pkg/clock/real.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { createContext, type Context } from "../context.ts"
import type { Lock } from "./pid-file.ts"
import { ServiceManager } from "./service-manager.ts"
import { containUncaught } from "./uncaught.ts"

/** What a server or an agent has of the process in which it runs. */
export interface ProcessLife {
  readonly context: Context
  readonly serviceManager: ServiceManager
  /** Aborts when the program is to end. */
  readonly signal: AbortSignal
}

/**
 * Begins the life of a server or an agent. When it is told to stop, the service manager and, by `lock`, the next
 * process hear of it.
 */
export function beginLife(log: Logger, lock: Lock): ProcessLife {
  const serviceManager = new ServiceManager({ env: process.env, clock: realClock, log })
  const signal = untilSignal(log, () => {
    void serviceManager.stopping()
    lock.setStopping()
  })
  const context = createContext(log)
  containUncaught(context.note)
  return { context, serviceManager, signal }
}

/** Tells the service manager that the program runs, and pings its watchdog while `problem` returns undefined. */
export function tellRunning(
  { context, serviceManager, signal }: ProcessLife,
  problem: () => string | undefined = () => undefined,
): void {
  context.spawn("service manager", () => serviceManager.ready())
  context.spawn("watchdog of the service manager", () => serviceManager.keepAlive(problem, signal), signal)
}

/** Returns a signal that aborts at the first SIGTERM or SIGINT, after `onStop`. A second one ends the program at once. */
function untilSignal(log: Logger, onStop: () => void): AbortSignal {
  const ending = new AbortController()
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (ending.signal.aborted) process.exit(name === "SIGINT" ? 130 : 143)
      log.info("Stopping; pods go on", { signal: name })
      onStop()
      ending.abort(new Error(`got ${name}`))
    })
  }
  return ending.signal
}
