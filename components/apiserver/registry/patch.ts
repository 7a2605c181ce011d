import { badRequest, conflict } from "../../../pkg/apimachinery/errors.ts"
import { decodeObject } from "../../../pkg/apimachinery/decode.ts"
import { applyJsonPatch } from "../../../pkg/apimachinery/patch/json.ts"
import { applyMergePatch } from "../../../pkg/apimachinery/patch/merge.ts"
import { applyStrategicMergePatch } from "../../../pkg/apimachinery/patch/strategic.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { ApiRequest, ApiResult } from "../request.ts"
import type { RegistryContext } from "./context.ts"
import { inNamespace, warnOf } from "./decode.ts"
import { applyFields, recordUpdate } from "./managed-fields.ts"
import { changeObject } from "./update.ts"

/** PATCH of an object or its status: the patched object then goes the way of a PUT. Only an apply may create. Source: endpoints/handlers/patch.go. */
export async function patch(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  const { patch } = request
  if (patch === undefined) throw badRequest("a patch needs a body")
  if (patch.type === "apply")
    return changeObject(
      context,
      request,
      (old) => applyFields(context, request, patch.body, old?.object),
      request.subresource === undefined,
    )
  return changeObject(
    context,
    request,
    (old) =>
      old === undefined
        ? absent(request)
        : recordUpdate(context, request, patchedObject(request, old.object), old.object),
    false,
  )
}

/** `changeObject` answers NotFound for it. */
const absent = ({ resource, name }: ApiRequest): KubeObject => ({
  apiVersion: resource.apiVersion,
  kind: resource.kind,
  metadata: { name },
})

/** `old` with the request's patch on it, as an object. */
function patchedObject(request: ApiRequest, old: KubeObject): KubeObject {
  const object = decodePatched(request, changed(request, old), old)
  if (object.metadata.name !== request.name)
    throw badRequest(
      `the name of the object (${object.metadata.name ?? ""}) does not match the name on the URL (${request.name})`,
    )
  return object
}

function changed({ resource, patch }: ApiRequest, old: object): unknown {
  switch (patch!.type) {
    case "json":
      return applyJsonPatch(old, patch!.body)
    case "merge":
      return applyMergePatch(old, patch!.body)
    case "strategic":
      return applyStrategicMergePatch(resource.schema, old, patch!.body)
    case "apply":
      throw conflict(resource, "", "an apply is no patch of the object")
  }
}

/** What a patch made, as an object: checked as a body would be. */
function decodePatched(request: ApiRequest, json: unknown, known: KubeObject): KubeObject {
  const { fieldValidation } = request.options
  const { object, faults } = decodeObject(request.resource, json, {
    fieldValidation,
    bodyFaults: request.bodyFaults,
    known,
  })
  warnOf(faults, request)
  return inNamespace(object, request)
}
