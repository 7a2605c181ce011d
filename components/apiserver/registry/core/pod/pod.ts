import { methodNotSupported } from "../../../../../pkg/apimachinery/errors.ts"
import type { KindHooks, SubresourceHandler } from "../../context.ts"
import { bind } from "./binding.ts"
import { evict } from "./eviction.ts"

/**
 * What pods have beside the generic verbs. log, exec, attach, portforward and proxy are streams and served by
 * endpoints/.
 */
export const podHooks: KindHooks = {
  subresources: { binding: onlyCreate(bind), eviction: onlyCreate(evict) },
}

function onlyCreate(handler: SubresourceHandler): SubresourceHandler {
  return (context, request) => {
    if (request.verb !== "create") throw methodNotSupported(request.resource, request.verb)
    return handler(context, request)
  }
}
