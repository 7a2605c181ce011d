import type { FairShare } from "../../../pkg/flow/fair-share.ts"
import { readBody } from "../codec/body.ts"
import type { Filled, ReceivedCall, RoutedCall } from "./call.ts"
import type { Stage } from "./stage.ts"

/** Returns the stage that reads the body of a request, where it has one. `bodies` limits the memory for all of them. */
export function received(bodies: FairShare): Stage<RoutedCall, ReceivedCall> {
  return (call, proceed) => {
    const whole = call as Filled<ReceivedCall>
    whole.body = NO_BODY
    if (!call.hasBody) return proceed(whole)
    const { exchange, attributes } = call
    return readBody(exchange.req, attributes.user.name, bodies).then((body) => {
      exchange.span?.event("limitedReadBody succeeded", { len: body.length })
      whole.body = body
      return proceed(whole)
    })
  }
}

const NO_BODY = new Uint8Array()
