import { closeSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import { fileError } from "../../../pkg/files/files.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { RotatingFile, type RotationLimits } from "../../../pkg/log/rotating-file.ts"
import type { AuditBackend, AuditLogFormat } from "./audit-backend.ts"
import type { AuditEvent } from "./audit-event.ts"
import type { AuditMetrics } from "./audit-metrics.ts"

/** Where events are written. */
export interface AuditLogOptions extends RotationLimits {
  /** The file; `-` for standard output. */
  readonly path: string
  readonly format?: AuditLogFormat
}

/** The file is closed when nothing was written for this time, so that others may put it aside, too. */
const OPEN_MS = 100

/** More text than this does not wait for a reader of standard output, in bytes. */
const MOST_UNREAD = 16 * 1024 * 1024

interface LogParts {
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: AuditMetrics
}

/**
 * Returns the backend of `--audit-log-path`: a line for each event. Events are in the file before `process` returns.
 * @throws Error when the file cannot be written
 */
export function logBackend({ path, format = "json", ...limits }: AuditLogOptions, parts: LogParts): AuditBackend {
  const { log, metrics } = parts
  const lineOf = format === "json" ? ({ json }: AuditEvent) => `${json}\n` : ({ legacy }: AuditEvent) => `${legacy}\n`
  const out = path === "-" ? standardOutput() : rotated(path, limits, parts.clock)
  return {
    process(events) {
      try {
        out.append(events.map(lineOf).join(""))
        return true
      } catch (err) {
        // A full disk must not end the server, so the number of lost events is logged instead.
        log.error("Failed to write the audit log", { path, lost: events.length, error: err })
        metrics.lost("log", events.length)
        return false
      }
    },
    close: () => out.close(),
  }
}

interface Output {
  append(text: string): void
  close(): void
}

function rotated(path: string, limits: RotationLimits, clock: Clock): Output {
  ensureFile(path)
  const file = new RotatingFile(path, limits, clock)
  let closing: Timer | undefined
  let isClosed = false
  return {
    append(text) {
      file.append(text)
      if (isClosed) file.close()
      else
        closing ??= clock.setTimeout(() => {
          closing = undefined
          file.close()
        }, OPEN_MS)
    },
    close() {
      isClosed = true
      closing?.cancel()
      file.close()
    },
  }
}

function standardOutput(): Output {
  return {
    append(text) {
      if (process.stdout.writableLength > MOST_UNREAD) throw new Error("standard output is not read")
      process.stdout.write(text)
    },
    close: () => undefined,
  }
}

/**
 * Opens the log once, so that a server that cannot write its audit log does not start.
 * @throws Error that names the file. Source: apiserver pkg/server/options/audit.go ensureLogFile.
 */
function ensureFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, "a", 0o600))
  } catch (err) {
    throw fileError("write the audit log", path, err)
  }
}
