import { createImpersonate, type ActingUser } from "../authentication/impersonation.ts"
import { attributesOfInfo } from "../authorization/attributes-of.ts"
import { authorize } from "../authorization/authorize.ts"
import type { Decider } from "../authorization/authorizer.ts"
import { decidedBy } from "../authorization/decisions.ts"
import { isImpersonating } from "../http/credentials.ts"
import type { ServerOptions } from "../server-options.ts"
import { decidedWhenFresh } from "../store/decided-when-fresh.ts"
import type { AuthenticatedCall, AuthorizedCall, Filled } from "./call.ts"
import type { Stage } from "./stage.ts"

type Options = Pick<ServerOptions, "pipeline" | "connections" | "freshen">

/**
 * Returns the stage that finds out as whom a request acts, which may be another user than its sender, and whether that
 * user may do what it asks for. It throws Forbidden.
 */
export function authorized({ pipeline, connections, freshen }: Options): Stage<AuthenticatedCall, AuthorizedCall> {
  const impersonate = createImpersonate()
  function decided(call: AuthenticatedCall, decider: Decider): AuthorizedCall {
    const { exchange, info, remote, credentials, sender } = call
    const { req, notes } = exchange
    const acting: ActingUser = isImpersonating(req)
      ? impersonate(sender, credentials, attributesOfInfo(sender, info), (attributes) => decider.authorize(attributes))
      : { user: sender }
    const { user } = acting
    if (notes !== undefined) {
      notes.user = user
      notes.constraint = acting.constraint
    }
    const allowed = call as Filled<AuthorizedCall>
    const attributes = attributesOfInfo(user, info)
    allowed.attributes = attributes
    allowed.grant = authorize(decider, attributes, exchange.annotate)
    if (remote === undefined && connections.needsCreate(info))
      authorize(decider, { ...attributes, verb: "create" }, undefined)
    return allowed
  }
  return (call, proceed) =>
    decidedWhenFresh(freshen, () => decidedBy(pipeline, (decider) => decided(call, decider)), proceed)
}
