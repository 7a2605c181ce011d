import { appendFileSync, closeSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"
import type { Clock } from "../../pkg/clock/clock.ts"
import { fileError } from "../../pkg/files/files.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Finished } from "./proxy/proxy-parts.ts"
import { serviceOf } from "./routing/target.ts"

/** Lines are collected and written together after this time. */
const FLUSH_MS = 100
const LONGEST_TEXT = 1024

export interface AccessLog {
  write(exchange: Finished): void
  /** Writes the lines that are still collected. */
  close(): void
}

/**
 * Writes a line of JSON for each finished request. The query of a request is left out, since it may contain secrets.
 * `path` is a file, or `-` for standard output. @throws Error when the file cannot be written
 */
export function createAccessLog(
  path: string,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): AccessLog {
  if (path !== "-") ensureFile(path)
  let lines: string[] = []
  const flush = () => {
    if (lines.length === 0) return
    const text = lines.join("")
    lines = []
    if (path === "-") return void process.stdout.write(text)
    try {
      // Opened for each write, so that a new file is created after log rotation has moved the old one.
      appendFileSync(path, text, { mode: 0o600 })
    } catch (err) {
      log.error("Failed to write the access log", { path, err })
    }
  }
  return {
    write({ request, target, backend, endpoint, status, received, sent, ms }) {
      if (lines.length === 0) clock.setTimeout(flush, FLUSH_MS)
      const { method, version, host, origin, fields } = request
      const query = request.target.indexOf("?")
      const line = {
        time: new Date(clock.now()).toISOString(),
        client: origin.client,
        method,
        scheme: origin.isSecure ? "https" : "http",
        host,
        path: cut(query < 0 ? request.target : request.target.slice(0, query)),
        protocol: version,
        status,
        received,
        sent,
        ms: Math.round(ms * 1000) / 1000,
        ...(target === undefined ? {} : { [target.owner.kind.toLowerCase()]: target.owner.key }),
        service: serviceOf(backend),
        endpoint: endpoint?.key,
        userAgent: cut(fields.find(({ key }) => key === "user-agent")?.value ?? ""),
      }
      lines.push(`${JSON.stringify(line)}\n`)
    },
    close: flush,
  }
}

const cut = (text: string): string => text.slice(0, LONGEST_TEXT)

/** Checks that the file can be opened, so that a server that cannot write its access log does not start. */
function ensureFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, "a", 0o600))
  } catch (err) {
    throw fileError("write the access log", path, err)
  }
}
