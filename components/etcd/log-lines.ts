import { z } from "zod"
import type { Clock } from "../../pkg/clock/clock.ts"
import type { Logger } from "../../pkg/log/log.ts"

const Line = z.looseObject({ level: z.string(), msg: z.string() })

/** Of one message so much is logged in this time; etcd repeats some several times a second while members are away. */
const REPEAT_MS = 60_000
/** Of so many messages it is known when they were logged. There are fewer in etcd. */
const MOST_MESSAGES = 500
/** What etcd says of every call or member again, and what our own log says better. */
const USUAL =
  /^(apply request took too long|request stats|health check for peer failed|prober |found invalid file|simple token is not|established TCP|lost TCP|dropped internal Raft|rejected connection|failed to reach the peer|peer became inactive|closed an existing TCP|stopped |waiting for )/

/** Passes the lines of etcd's log on to ours, and keeps what they say of its end. */
export class LogLines {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #last = new Map<string, number>()
  /** The last error; undefined until there is one. */
  complaint: string | undefined
  /** Whether etcd has found that its cluster has removed this member. Source: etcdserver/server.go `case err := <-s.errorc`. */
  saysRemoved = false

  constructor(log: Logger, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  take(line: string): void {
    const parsed = parse(line)
    // A panic, or what the runtime of Go says.
    if (parsed === undefined) {
      if (line.startsWith("panic:")) this.complaint = line
      return this.#log.debug(line)
    }
    const { level, msg, ts: _, caller: __, stacktrace: ___, ...fields } = parsed
    if (msg.includes("data-dir used by this member must be removed")) this.saysRemoved = true
    if (level === "info" || level === "debug") return this.#log.debug(msg, fields)
    const isGrave = level !== "warn"
    if (isGrave) this.complaint = `${msg}${typeof fields["error"] === "string" ? `: ${fields["error"]}` : ""}`
    if ((!isGrave && USUAL.test(msg)) || this.#isRepeated(msg)) return this.#log.debug(msg, fields)
    if (isGrave) this.#log.error(msg, fields)
    else this.#log.warn(msg, fields)
  }

  #isRepeated(message: string): boolean {
    const now = this.#clock.monotonic()
    const last = this.#last.get(message)
    if (last !== undefined && now - last < REPEAT_MS) return true
    if (this.#last.size >= MOST_MESSAGES) this.#last.clear()
    this.#last.set(message, now)
    return false
  }
}

function parse(line: string): z.output<typeof Line> | undefined {
  try {
    return Line.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}
