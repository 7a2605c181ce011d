import type { Clock } from "../../../pkg/clock/clock.ts"
import type { FairShare } from "../../../pkg/flow/fair-share.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { UserInfo } from "../call/request.ts"
import type { Terms } from "./flow-control.ts"
import type { Classification } from "../call/classification.ts"
import { TURNED_AWAY } from "../call/too-many-requests.ts"

/**
 * The longest wait of any request. Source: apiserver pkg/server/filters/priority-and-fairness.go getRequestWaitContext.
 */
const LONGEST_WAIT_MS = 60_000

export interface FlowTermsParts {
  readonly exchange: Exchange
  readonly info: RequestInfo
  readonly user: UserInfo
  /** Limits the bytes of bodies in memory, in all and per user. */
  readonly bodies: FairShare
  /** Length of the request's body, which stays in memory while the request waits. */
  readonly bodyBytes: number
  readonly isWatch: boolean
  /** Most time that the request may take, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
}

/** The terms of a request over HTTP. */
export class FlowTerms implements Terms<void> {
  readonly mostMs: number
  readonly holdsSeats?: false
  readonly #parts: FlowTermsParts
  /** Since when the request waits, in milliseconds of the monotonic clock. */
  #waitsSince = 0

  constructor(parts: FlowTermsParts) {
    this.#parts = parts
    this.mostMs = Math.min(parts.timeoutMs / 4, LONGEST_WAIT_MS)
    if (parts.isWatch) this.holdsSeats = false
  }

  get limit(): number | undefined {
    const { verb, query } = this.#parts.info
    const text = verb === "list" ? query.get("limit") : undefined
    return text === undefined ? undefined : Number(text)
  }

  /** Aborts when the client disconnects. */
  get signal(): AbortSignal {
    const gone = new AbortController()
    this.#parts.exchange.res.once("close", () => gone.abort())
    return gone.signal
  }

  classified(classification: Classification): void {
    this.#parts.exchange.classified(classification)
  }

  begin(): boolean {
    const { bodies, user, bodyBytes, clock } = this.#parts
    this.#waitsSince = clock.monotonic()
    return bodyBytes === 0 || bodies.take(user.name, bodyBytes)
  }

  end(): void {
    const { exchange, bodies, user, bodyBytes, clock } = this.#parts
    exchange.waited(clock.monotonic() - this.#waitsSince)
    if (bodyBytes > 0) bodies.giveBack(user.name, bodyBytes)
  }

  rejected(retryAfter: number): void {
    this.#parts.exchange.isTerminated = true
    this.#parts.exchange.sendText(429, `${TURNED_AWAY}\n`, { "Retry-After": String(retryAfter) })
  }
}
