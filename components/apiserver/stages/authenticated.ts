import { ownConnection } from "../../../pkg/runtime/http/listen.ts"
import { ANONYMOUS } from "../authentication/authenticator.ts"
import { shareUsedUp } from "../call/too-many-requests.ts"
import { isExempt } from "../flowcontrol/exempt.ts"
import { credentialsOf } from "../http/credentials.ts"
import type { ServerOptions } from "../server-options.ts"
import { decidedWhenFresh } from "../store/decided-when-fresh.ts"
import { startRequestSpan } from "../tracing/request-span.ts"
import type { AuthenticatedCall, Call, Filled } from "./call.ts"
import type { Stage } from "./stage.ts"

type Options = Pick<ServerOptions, "authenticator" | "freshen" | "scheme" | "tracing">

/**
 * Returns the stage that finds out who sends a request; from there on its connection counts as that user's, and its
 * span begins. It throws Unauthorized, and TooManyRequests for a user who has too many connections.
 */
export function authenticated({ authenticator, freshen, scheme, tracing }: Options): Stage<Call, AuthenticatedCall> {
  return (call, proceed) => {
    const { exchange, info, remote } = call
    const credentials = credentialsOf(exchange, info)
    return decidedWhenFresh(
      freshen,
      () => authenticator.authenticate(credentials),
      (sender) => {
        const { req, notes } = exchange
        if (notes !== undefined) notes.sender = sender
        if (sender !== ANONYMOUS && !ownConnection(req, sender.name, isExempt(sender))) throw shareUsedUp("connections")
        const known = call as Filled<AuthenticatedCall>
        known.credentials = credentials
        known.sender = sender
        if (tracing === undefined) return proceed(known)
        const isKnown = remote !== undefined || scheme.resource(info.group, info.version, info.resource) !== undefined
        exchange.span = startRequestSpan(tracing, exchange, info, sender, info.isResource && isKnown)
        return tracing.within(exchange.span, () => proceed(known))
      },
    )
  }
}
