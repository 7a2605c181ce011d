import type { Clock } from "../clock/clock.ts"

export type Level = "debug" | "info" | "warn" | "error"
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Writes log lines. A line is a constant message, then fields with fixed names: `log.info("Bound pod", { pod, node })`.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Returns a logger that adds `fields` to each of its lines. */
  child(fields: LogFields): Logger
}

export interface LoggerOptions {
  clock: Clock
  format: "text" | "json"
  level: Level
  write(line: string): void
}

const RANK: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 }

export function createLogger(options: LoggerOptions, inherited: LogFields = {}): Logger {
  const lowest = RANK[options.level]
  const at =
    (level: Level) =>
    (message: string, fields: LogFields = {}) => {
      if (RANK[level] < lowest) return
      const now = options.clock.now()
      const all = { ...inherited, ...fields }
      options.write(options.format === "json" ? json(now, level, message, all) : line(now, level, message, all))
    }
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => createLogger(options, { ...inherited, ...fields }),
  }
}

/** A logger that writes nothing. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

/** The verbosity (`-v`) at which Kubernetes writes lines of a level. Its errors have none. */
const VERBOSITY: Record<Level, number | undefined> = { debug: 4, info: 0, warn: 0, error: undefined }

/**
 * Returns a line as a JSON object with upstream's keys: `ts` in milliseconds, `msg`, `v` unless it is an error, `err`;
 * and `level`, which upstream leaves out. A field cannot replace them. Source: component-base logs/json/json.go.
 */
function json(now: number, level: Level, message: string, { error: err, ...fields }: LogFields): string {
  const own = { ts: now, level, msg: message, v: VERBOSITY[level] }
  return JSON.stringify({ ...own, ...plain({ err, ...fields }), ...own })
}

const line = (now: number, level: Level, message: string, fields: LogFields) =>
  [
    new Date(now).toISOString(),
    level.toUpperCase().padEnd(5),
    message,
    ...Object.entries(plain(fields)).map(([key, value]) => `${key}=${quoted(value)}`),
  ].join(" ")

const plain = (fields: LogFields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, value instanceof Error ? value.message : value]),
  )

const quoted = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return /^[\w./:@+-]+$/.test(text) ? text : typeof value === "string" ? JSON.stringify(text) : text
}
