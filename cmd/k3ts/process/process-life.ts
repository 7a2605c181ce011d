import type { Logger } from "../../../pkg/log/log.ts"

/** Returns a signal that aborts at the first SIGTERM or SIGINT, after `onStop`. A second one ends the program at once. */
export function untilSignal(log: Logger, onStop: () => void): AbortSignal {
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
