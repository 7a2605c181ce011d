import { methodNotSupported } from "../../../../../pkg/apimachinery/errors.ts"
import type { KindHooks, SubresourceHandler } from "../../context.ts"
import { bind } from "./binding.ts"
import { evict } from "./eviction.ts"

/** The hooks of pods. log, exec, attach, portforward and proxy are streams, which endpoints/ serves. */
export const podHooks: KindHooks = {
  subresources: { binding: onlyCreate(bind), eviction: onlyCreate(evict) },
}

function onlyCreate(handler: SubresourceHandler): SubresourceHandler {
  return (context, request) => {
    if (request.verb !== "create") throw methodNotSupported(request.resource, request.verb)
    return handler(context, request)
  }
}
