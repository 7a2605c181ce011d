/** Preloaded into a server: each SIGUSR2 makes the next mistake, outside of every seam but that of the process. */
import { realClock } from "../../pkg/clock/real.ts"
import { FatalError } from "../../pkg/failure/fatal-error.ts"

const withCode = (message: string, code: string) => Object.assign(new Error(message), { code })
const thrown = (err: unknown) => () =>
  void setImmediate(() => {
    throw err
  })

/** In the order of the places in `MADE_AT`. */
const MISTAKES: readonly (() => void)[] = [
  thrown(new TypeError("a mistake in a callback")),
  thrown("no error at all"),
  () => void Promise.reject(new Error("a mistake in a promise")),
  thrown(withCode("read ECONNRESET", "ECONNRESET")),
  () => void Promise.reject(withCode("write EPIPE", "EPIPE")),
  thrown(new Error("A FileHandle object was closed during garbage collection. This used to be allowed with a …")),
  // The last one is damage of the store.
  () => void realClock.setTimeout(thrown(new FatalError("the store failed in the middle of a commit")), 0),
]

/** Where each mistake but the last is contained. */
export const MADE_AT = [
  "uncaught exception",
  "uncaught exception",
  "unhandled rejection",
  "ended socket",
  "ended socket",
  "forgotten file",
] as const

let next = 0
process.on("SIGUSR2", () => MISTAKES[next++]?.())
