import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { RemoteService } from "../aggregator/api-services.ts"
import type { PastPath, RequestInfo } from "../call/request-info.ts"
import { noSuchMethod } from "../call/subresource-verbs.ts"
import { isLongRunning } from "../http/long-running.ts"
import { isWhyPath } from "../call/why-path.ts"
import { resourceOf, serveResource, usualWatchSeconds } from "../http/resource-request.ts"
import type { ServerOptions } from "../server-options.ts"
import type { AuthorizedCall, Filled, Handler, RoutedCall } from "./call.ts"
import type { Stage } from "./stage.ts"

/**
 * Returns the stage that finds who serves a request: an extension API server, a stream of a subresource, a resource, or
 * a path. It throws NotFound and MethodNotAllowed where nobody does.
 */
export function routed(options: ServerOptions): Stage<AuthorizedCall, RoutedCall> {
  const { pipeline, scheme, aggregator, connections, clock, metrics } = options
  const watchSeconds = options.withoutTimeLimits === true ? () => undefined : () => usualWatchSeconds(options.random)
  const resourceOptions = { pipeline, scheme, clock, watchSeconds, metrics }

  return (call, proceed) => {
    const { exchange, info, remote } = call
    const isLong = isLongRunning(info)
    const routed = call as Filled<RoutedCall>
    if (info.past !== undefined) checkPast(info, info.past, remote)
    if (info.past?.wants === "history" || (info.past?.wants === "state" && info.isResource)) {
      routed.handler = async ({ exchange, attributes: { user }, grant }) =>
        (await options.past()).serve({ exchange, info, user, grant })
      exchange.isServed = true
      routed.hasBody = false
      routed.takesTurn = true
      return proceed(routed)
    }
    if (remote !== undefined) {
      // The parts of the path become labels of metrics only if the extension server is known to have such a resource.
      exchange.isServed = aggregator!.hasResource(info, remote)
      // It gets the body as it comes.
      routed.handler = ({ attributes }) => aggregator!.serve(exchange, info, attributes.user, remote)
      routed.hasBody = false
      routed.takesTurn = !isLong && exchange.upgrade === undefined
      return proceed(routed)
    }
    // No part of the server has paths of this group, so the response is plain text, and the request counts as not
    // served.
    if (info.isResource && scheme.group(info.group) === undefined) return exchange.sendText(404, "404 page not found\n")
    routed.handler = handlerOf(info, exchange.req.method ?? "GET")
    exchange.isServed = true
    routed.hasBody = !isLong && hasBody(info)
    // The requests of which an answer to why is made take their turns: it would wait for them while it has its own.
    routed.takesTurn = (!isLong || info.verb === "watch") && !isWhyPath(info)
    return proceed(routed)
  }

  function handlerOf(info: RequestInfo, method: string): Handler {
    if (!info.isResource) return ({ exchange, attributes }) => options.paths(exchange, info, attributes.user)
    const connection = connections.find(info)
    if (connection !== undefined) return ({ exchange, attributes }) => connection(exchange, info, attributes.user)
    const resource = resourceOf(info, scheme)
    if (method === "HEAD" || (info.legacyWatch && method !== "GET")) throw noSuchMethod()
    return ({ exchange, attributes: { user }, body, grant }) =>
      serveResource({ exchange, info, user, body, grant }, resource, resourceOptions)
  }
}

/** @throws ApiError for what nobody can do in the past, or nobody has kept */
function checkPast(info: RequestInfo, { wants }: PastPath, remote: RemoteService | undefined): void {
  const { isResource, verb, subresource } = info
  if (isWhyPath(info)) throw new ApiError("MethodNotAllowed", "why something is not well is told of now only")
  // Who may write the status alone must not say who owns the other fields.
  if (wants === "restore" && subresource !== "")
    throw new ApiError("MethodNotAllowed", "objects are restored as a whole, and not through a subresource")
  if (wants === "restore" ? verb !== "create" && verb !== "update" : verb !== "get" && verb !== "list")
    throw new ApiError(
      "MethodNotAllowed",
      wants === "restore"
        ? `objects are restored by create and update: ${verb} is not possible`
        : `the past can only be read, by get and list: ${verb} is not possible`,
    )
  if (isResource && remote !== undefined)
    throw new ApiError("NotFound", "objects of extension API servers have no history here")
}

/** Verbs whose requests may have a body. */
const BODY: readonly string[] = ["create", "update", "patch", "delete", "deletecollection"]
const hasBody = ({ isResource, verb }: RequestInfo): boolean => isResource && BODY.includes(verb)
