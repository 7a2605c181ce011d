import type { Clock } from "../clock/clock.ts"
import { errorMessage } from "../errors/error-message.ts"
import { RotatingFile, type RotationLimits } from "./rotating-file.ts"

/** How long no write is tried after one has failed, in milliseconds. */
const RETRY_MS = 1000

export interface LogFileOptions extends RotationLimits {
  readonly path: string
  readonly clock: Clock
  /** Called with each line that cannot be written to the file, without its line end. */
  readonly otherwise: (line: string) => void
  /** Called once when the file cannot be written, with the reason. */
  readonly complain: (message: string) => void
}

/**
 * Returns a function that writes log lines to a file. When the file cannot be written, because its disk is full or it
 * may not be opened, the program goes on: lines go to `otherwise`, and the file is tried again after a second.
 */
export function logFile({ path, clock, otherwise, complain, ...limits }: LogFileOptions): (line: string) => void {
  const file = new RotatingFile(path, limits, clock)
  let failedAt: number | undefined
  return (line) => {
    const isWaiting = failedAt !== undefined && clock.monotonic() - failedAt < RETRY_MS
    if (isWaiting) return otherwise(line)
    try {
      file.append(`${line}\n`)
      failedAt = undefined
    } catch (err) {
      if (failedAt === undefined)
        complain(`Cannot write the log ${path}: ${errorMessage(err)}; its lines come here, and the file is tried again`)
      failedAt = clock.monotonic()
      otherwise(line)
    }
  }
}
