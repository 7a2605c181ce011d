import type { FairShare } from "../../../pkg/flow/fair-share.ts"
import { settled } from "../call/settled.ts"
import { RETRY_AFTER_SECONDS, TURNED_AWAY } from "../call/too-many-requests.ts"
import { FlowTerms } from "../flowcontrol/flow-terms.ts"
import { DEFAULT_LIMITS, MaxInFlight } from "../flowcontrol/max-in-flight.ts"
import { DEFAULT_REQUEST_TIMEOUT_MS } from "../http/request-timeout.ts"
import type { ServerOptions } from "../server-options.ts"
import type { ReceivedCall } from "./call.ts"
import type { Stage } from "./stage.ts"

/**
 * Returns the stage of flow control, which lets a request pass when it may begin, or answers TooManyRequests. It comes
 * after the body, which a client may send slowly. `bodies` is the memory for the bodies of requests that wait.
 */
export function inTurn(options: ServerOptions, bodies: FairShare): Stage<ReceivedCall, ReceivedCall> {
  const { flow, metrics, clock, tracing, requestTimeoutMs: mostTimeMs = DEFAULT_REQUEST_TIMEOUT_MS } = options
  const maxInFlight = new MaxInFlight(options.maxInFlight ?? DEFAULT_LIMITS, {
    reads: metrics.inflightReads,
    writes: metrics.inflightWrites,
  })
  return (call, proceed) => {
    if (!call.takesTurn) return proceed(call)
    const { exchange, info, attributes, timeoutMs = mostTimeMs, body } = call
    const { user } = attributes
    const isWatch = info.isResource && info.verb === "watch"
    if (flow === undefined) {
      if (isWatch) return proceed(call)
      const slot = maxInFlight.enter(user, info.verb)
      if (slot !== undefined)
        return settled(
          () => proceed(call),
          () => maxInFlight.leave(slot, user),
        )
      exchange.isTerminated = true
      return exchange.sendText(429, `${TURNED_AWAY}\n`, { "Retry-After": String(RETRY_AFTER_SECONDS) })
    }
    const waiting = tracing?.start("priorityandfairness")
    const begin = () => {
      waiting?.end()
      return isWatch ? proceed(call) : maxInFlight.counted(info.verb, proceed(call))
    }
    const terms = new FlowTerms({ exchange, info, user, bodies, bodyBytes: body.length, isWatch, timeoutMs, clock })
    return flow.run(user, attributes, begin, terms)
  }
}
