import type { Clock } from "../../../pkg/clock/clock.ts"
import type { FairShare } from "../../../pkg/flow/fair-share.ts"
import type { Tracing } from "../../../pkg/tracing/tracing.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import { settled } from "../call/settled.ts"
import type { NonResourceRequest, ResourceAttributes } from "../call/request.ts"
import type { FlowControl } from "./flow-control.ts"
import { FlowTerms } from "./flow-terms.ts"
import type { MaxInFlight } from "./max-in-flight.ts"
import { RETRY_AFTER_SECONDS, TURNED_AWAY } from "../call/too-many-requests.ts"

/** A request that is authorized, with what flow control needs to know of it. */
export interface Admitted {
  readonly info: RequestInfo
  readonly attributes: ResourceAttributes | NonResourceRequest
  /** Most time that the request may take, in milliseconds; undefined for watches and streams. */
  readonly timeoutMs: number | undefined
}

interface FlowStageOptions {
  /** Priority and fairness; without it only the limits of `maxInFlight` apply. */
  readonly flow: FlowControl | undefined
  readonly maxInFlight: MaxInFlight
  /** The memory for the bodies of requests that wait. */
  readonly bodies: FairShare
  readonly mostTimeMs: number
  readonly clock: Clock
  readonly tracing: Tracing | undefined
}

type FlowStage = (
  exchange: Exchange,
  admitted: Admitted,
  body: Uint8Array,
  serveIt: () => void | Promise<void>,
) => void | Promise<void>

/** Returns the stage of flow control, which serves a request when it may begin. */
export function flowStage({ flow, maxInFlight, bodies, mostTimeMs, clock, tracing }: FlowStageOptions): FlowStage {
  return (exchange, { info, attributes, timeoutMs = mostTimeMs }, body, serveIt) => {
    const { user } = attributes
    const isWatch = info.isResource && info.verb === "watch"
    if (flow === undefined) {
      if (isWatch) return serveIt()
      const slot = maxInFlight.enter(user, info.verb)
      if (slot !== undefined) return settled(serveIt, () => maxInFlight.leave(slot, user))
      exchange.isTerminated = true
      return exchange.sendText(429, `${TURNED_AWAY}\n`, { "Retry-After": String(RETRY_AFTER_SECONDS) })
    }
    const waiting = tracing?.start("priorityandfairness")
    const begin = () => {
      waiting?.end()
      return isWatch ? serveIt() : maxInFlight.counted(info.verb, serveIt())
    }
    const bodyBytes = body.length
    const terms = new FlowTerms({ exchange, info, user, bodies, bodyBytes, isWatch, timeoutMs, clock })
    return flow.run(user, attributes, begin, terms)
  }
}
