import { badRequest } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { ApiRequest, ApiResult } from "../../call/request.ts"
import type { RegistryContext } from "../context.ts"
import { checkName, inNamespace } from "../decode.ts"
import { applyFields, recordUpdate } from "../managed-fields/managed-fields.ts"
import { patched, type PlainPatch } from "../patched.ts"
import { changeObject } from "./update.ts"

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
    (old) => recordUpdate(context, request, patchedObject(request, plain, old!.object), old!.object),
    false,
  )
}

/** Applies the patch to `old`; the result has the request's name and namespace. */
function patchedObject(request: ApiRequest, patch: PlainPatch, old: KubeObject): KubeObject {
  const object = patched(request, request.resource, patch, old)
  checkName(object, request)
  return inNamespace(object, request)
}
