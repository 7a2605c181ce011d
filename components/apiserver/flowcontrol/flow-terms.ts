import type { FairShare } from "../../../pkg/flow/fair-share.ts"
import type { Exchange } from "../http/exchange.ts"
import type { RequestInfo } from "../http/request-info.ts"
import type { UserInfo } from "../request.ts"
import type { Classification, Terms } from "./flow-control.ts"
import { TURNED_AWAY } from "./too-many-requests.ts"

/**
 * The longest wait of any request. Source: apiserver pkg/server/filters/priority-and-fairness.go getRequestWaitContext.
 */
const LONGEST_WAIT_MS = 60_000

/** The terms of a request over HTTP. */
export class FlowTerms implements Terms<void> {
  readonly mostMs: number
  readonly holdsSeats?: false
  readonly #exchange: Exchange
  readonly #info: RequestInfo
  readonly #user: UserInfo
  readonly #bodies: FairShare

  /** `bodies` limits the bytes of bodies in memory, in all and per user. */
  constructor(
    exchange: Exchange,
    info: RequestInfo,
    user: UserInfo,
    bodies: FairShare,
    isWatch: boolean,
    requestTimeoutMs: number,
  ) {
    this.#exchange = exchange
    this.#info = info
    this.#user = user
    this.#bodies = bodies
    this.mostMs = Math.min((exchange.timeoutMs ?? requestTimeoutMs) / 4, LONGEST_WAIT_MS)
    if (isWatch) this.holdsSeats = false
  }

  get limit(): number | undefined {
    const { verb, query } = this.#info
    const text = verb === "list" ? query.get("limit") : undefined
    return text === undefined ? undefined : Number(text)
  }

  /** Aborts when the client disconnects. */
  get signal(): AbortSignal {
    const gone = new AbortController()
    this.#exchange.res.once("close", () => gone.abort())
    return gone.signal
  }

  classified(classification: Classification): void {
    this.#exchange.classification = classification
  }

  /** The body of a waiting request stays in memory. */
  begin(): boolean {
    const { length } = this.#exchange.body
    return length === 0 || this.#bodies.take(this.#user.name, length)
  }

  end(): void {
    const { length } = this.#exchange.body
    if (length > 0) this.#bodies.giveBack(this.#user.name, length)
  }

  rejected(retryAfter: number): void {
    this.#exchange.sendText(429, `${TURNED_AWAY}\n`, { "Retry-After": String(retryAfter) })
  }
}
