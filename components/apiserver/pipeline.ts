import { attributesOf } from "./authorization/attributes-of.ts"
import { authorize } from "./authorization/authorize.ts"
import { TurnedAway } from "./call/too-many-requests.ts"
import { DEFAULT_REQUEST_TIMEOUT_MS } from "./http/request-timeout.ts"
import type { RegistryContext } from "./registry/context.ts"
import type { Grant } from "./call/grant.ts"
import { lateWatch } from "./call/late-watch.ts"
import { isPending, whenReady } from "./call/maybe-promise.ts"
import { isAuthorized, type AuthorizedRequest, type Pipeline, type ResourceAttributes } from "./call/request.ts"
import { whenFresh } from "./registry/when-fresh.ts"

/**
 * Runs authorization → flow control → admission → registry → store. The verbs of the registry call admission, because
 * they know the object. Requests from the HTTP server have passed authorization and flow control there.
 */
export function createPipeline(registry: RegistryContext): Pipeline {
  const { authorizer, flow } = registry
  const { perform, watch } = whenFresh(registry)

  function performed(request: AuthorizedRequest, attributes: ResourceAttributes) {
    if (flow === undefined) return perform(request)
    return flow.run(request.user, attributes, () => perform(request), {
      mostMs: WAIT_MS,
      isPatient: true,
      limit: request.options.limit,
      signal: request.signal,
      rejected: (seconds) => {
        throw new TurnedAway(seconds)
      },
    })
  }

  return {
    handle(request) {
      if (isAuthorized(request)) return perform(request)
      const attributes = attributesOf(request)
      return whenReady(authorize(authorizer, attributes, request.annotate), (grant: Grant) =>
        performed({ ...request, grant }, attributes),
      )
    },
    watch(request, sink) {
      if (isAuthorized(request)) return watch(request, sink)
      const attributes = attributesOf(request)
      const begin = (grant: Grant) => {
        const authorized = { ...request, grant }
        if (flow === undefined) return watch(authorized, sink)
        // A watch begins in the same turn of the event loop, so it does not wait for a seat.
        return flow.pass(request.user, attributes, () => watch(authorized, sink))
      }
      const grant = authorize(authorizer, attributes, request.annotate)
      return isPending(grant) ? lateWatch(grant, begin, (error) => sink.end(error)) : begin(grant)
    },
    authorize: (request) => authorizer.authorize(request),
  }
}

/** How long a request of this process may wait: a quarter of the usual time of a request. */
const WAIT_MS = DEFAULT_REQUEST_TIMEOUT_MS / 4
