import { badRequest } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { ApiRequest, ApiResult } from "../../call/request.ts"
import type { RegistryContext } from "../context.ts"
import { checkName, inNamespace } from "../decode.ts"
import { applyFields, recordUpdate } from "../managed-fields/managed-fields.ts"
import { patching, type PlainPatch } from "../patched.ts"
import { stepsOf } from "../large-writes.ts"
import { changeObject } from "./update.ts"
import { whenReady } from "../../call/maybe-promise.ts"

/**
 * PATCH of an object or its status: the patched object is then handled like a PUT. Only an apply may create an object.
 * Source: endpoints/handlers/patch.go.
 */
export async function patch(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const { patch, subresource } = request
  if (patch === undefined) throw badRequest("a patch needs a body")
  if (patch.type === "apply")
    return changeObject(
      context,
      request,
      (old) => applyFields(context, request, patch.body, old?.object),
      subresource === undefined,
    )
  const plain: PlainPatch = { ...patch, type: patch.type }
  return changeObject(
    context,
    request,
    (stored) => {
      if (request.patchFault !== undefined) throw request.patchFault
      const old = stored!.object
      const record = (object: KubeObject) => recordUpdate(context, request, named(request, object), old)
      return whenReady(stepsOf(context, request, patching(request, request.resource, plain, old)), record)
    },
    false,
  )
}

/** Returns a patched object with the request's name and namespace. @throws ApiError where the patch named another */
function named(request: ApiRequest, object: KubeObject): KubeObject {
  checkName(object, request)
  return inNamespace(object, request)
}
