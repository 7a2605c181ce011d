import { methodNotSupported } from "../../../pkg/apimachinery/errors.ts"
import type { ApiRequest, ApiResult, AuthorizedRequest } from "../call/request.ts"
import type { RegistryContext } from "./context.ts"
import { withSize } from "./large-writes.ts"
import { create } from "./verbs/create.ts"
import { deleteOne } from "./verbs/delete.ts"
import { deleteCollection } from "./verbs/deletecollection.ts"
import { get } from "./verbs/get.ts"
import { list } from "./verbs/list.ts"
import { patch } from "./verbs/patch.ts"
import { scale } from "./scale.ts"
import { strategyOf, update } from "./verbs/update.ts"

/** Executes an authorized request. Reads return in the same turn. */
export function perform(context: RegistryContext, request: AuthorizedRequest): ApiResult | Promise<ApiResult> {
  context.checkRunning()
  if (!WRITES.has(request.verb)) return dispatch(context, request)
  const settled = context.hooks(request.resource)?.settled
  const write = withSize(context, request)
  if (settled === undefined) return dispatch(context, write)
  return Promise.resolve(dispatch(context, write)).then(async (result) => {
    if (result.kind === "object") await settled(result.object)
    return result
  })
}
const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch"])

function dispatch(context: RegistryContext, request: ApiRequest): ApiResult | Promise<ApiResult> {
  const { resource, subresource, verb } = request
  if (subresource !== undefined) {
    const handler = context.hooks(resource)?.subresources?.[subresource]
    if (handler !== undefined) return handler(context, request)
    if (subresource === "scale" && resource.subresources?.scale !== undefined) return scale(context, request)
    if (strategyOf(resource, subresource) === undefined || !["get", "update", "patch"].includes(verb))
      throw methodNotSupported(resource, verb)
  } else if (!resource.verbs.includes(verb)) throw methodNotSupported(resource, verb)
  switch (verb) {
    case "get":
      return get(context, request)
    case "list":
      return list(context, request)
    case "create":
      return (context.hooks(resource)?.create ?? create)(context, request)
    case "update":
      return update(context, request)
    case "patch":
      return patch(context, request)
    case "delete":
      return deleteOne(context, request)
    case "deletecollection":
      return deleteCollection(context, request)
    case "watch":
      throw methodNotSupported(resource, verb)
  }
}
