import { settled } from "../call/settled.ts"
import { isLongRunning } from "../http/long-running.ts"
import type { ServerMetrics } from "../metrics.ts"
import type { ReceivedCall } from "./call.ts"
import type { Serve } from "./stage.ts"

/** Returns the end of the way: the handler answers, and a request that lasts is counted while it does. */
export const answer =
  (metrics: Pick<ServerMetrics, "longRunning">): Serve<ReceivedCall> =>
  (call) => {
    const { exchange, info, handler } = call
    if (!exchange.isServed || !isLongRunning(info)) return handler(call)
    return settled(() => handler(call), metrics.longRunning(info))
  }
