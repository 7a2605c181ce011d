import type { Clock } from "../clock/clock.ts"

/** How often kubectl asks whether the server is still there. Source: client-go tools/remotecommand/websocket.go. */
const PERIOD_MS = 5000
/** So many questions may stay without an answer; a second after the last of them the server counts as lost. */
const MOST_UNANSWERED = 12
const LAST_MS = 1000

export interface HeartbeatParts {
  readonly clock: Clock
  /** Asks the other side for a sign of life. */
  ask(): void
  /** Whether answers can be read: not while what came before them waits for a slow reader. */
  isReading(): boolean
  /** Called once, when answers have not come for 61 seconds. */
  lost(): void
}

/** Asks the other side of a connection every five seconds whether it is still there. */
export class Heartbeat {
  readonly #parts: HeartbeatParts
  #unanswered = 0
  #timer: ReturnType<Clock["setTimeout"]>

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
    this.#timer = this.#next(PERIOD_MS)
  }

  /** The other side has answered. */
  answered(): void {
    this.#unanswered = 0
  }

  stop(): void {
    this.#timer.cancel()
  }

  #next(ms: number): ReturnType<Clock["setTimeout"]> {
    return this.#parts.clock.setTimeout(() => this.#beat(), ms, "upkeep")
  }

  #beat(): void {
    const { ask, isReading, lost } = this.#parts
    if (!isReading()) this.#unanswered = 0
    if (this.#unanswered === MOST_UNANSWERED) return lost()
    this.#unanswered++
    ask()
    this.#timer = this.#next(this.#unanswered === MOST_UNANSWERED ? LAST_MS : PERIOD_MS)
  }
}
