import type { Clock } from "../clock/clock.ts"
import { RotatingFile, type RotationLimits } from "./rotating-file.ts"

/** How long the file is left alone after it could not be written, in milliseconds. */
const RETRY_MS = 1000

export interface LogFileOptions extends RotationLimits {
  readonly path: string
  readonly clock: Clock
  /** Takes the lines that the file cannot take, without their end. */
  readonly otherwise: (line: string) => void
  /** Is told once that the file cannot be written, and why. */
  readonly complain: (message: string) => void
}

/**
 * Returns what writes log lines to a file. A file that cannot be written, because its disk is full or it may not be
 * opened, stops nobody: the lines go elsewhere meanwhile, and the file is tried again after a second.
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
        complain(
          `Cannot write the log ${path}: ${err instanceof Error ? err.message : String(err)}; its lines come here, ` +
            "and the file is tried again",
        )
      failedAt = clock.monotonic()
      otherwise(line)
    }
  }
}
