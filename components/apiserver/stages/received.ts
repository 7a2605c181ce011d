import type { FairShare } from "../../../pkg/flow/fair-share.ts"
import { readBody } from "../codec/body.ts"
import type { ReceivedCall, RoutedCall } from "./call.ts"
import type { Stage } from "./stage.ts"

/** Returns the stage that reads the body of a request, where it has one. `bodies` limits the memory for all of them. */
export function received(bodies: FairShare): Stage<RoutedCall, ReceivedCall> {
  return (call, proceed) => {
    if (!call.hasBody) return proceed({ ...call, body: NO_BODY })
    const { exchange, attributes } = call
    return readBody(exchange.req, attributes.user.name, bodies).then((body) => {
      exchange.span?.event("limitedReadBody succeeded", { len: body.length })
      return proceed({ ...call, body })
    })
  }
}

const NO_BODY = new Uint8Array()
