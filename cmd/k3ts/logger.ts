import { realClock } from "../../pkg/clock/real.ts"
import { logFile } from "../../pkg/log/log-file.ts"
import { createLogger, type Logger } from "../../pkg/log/log.ts"
import type { NodeFlags } from "./config/server-flags.ts"

/** The `-v` from which Kubernetes logs what helps to find faults. Source: community, logging conventions. */
const DEBUG_VERBOSITY = 4
const DAY_MS = 86_400_000

/** Returns the logger that the flags ask for: to standard error, or to a file that is rotated when it is large. */
export function loggerOf(flags: NodeFlags): Logger {
  const toStandardError = (line: string) => void process.stderr.write(`${line}\n`)
  const { debug, v, log: path } = flags
  const file =
    path === undefined
      ? undefined
      : logFile({
          path,
          clock: realClock,
          mostBytes: flags["log-max-size"],
          mostFiles: flags["log-max-files"],
          mostAgeMs: flags["log-max-age"] * DAY_MS,
          complain: toStandardError,
          otherwise: flags.alsologtostderr ? () => undefined : toStandardError,
        })
  const write = (line: string) => {
    file?.(line)
    if (file === undefined || flags.alsologtostderr) toStandardError(line)
  }
  return createLogger({
    clock: realClock,
    format: flags["log-format"],
    level: debug || v >= DEBUG_VERBOSITY ? "debug" : "info",
    write,
  })
}
