import { decodeObject } from "../../../pkg/apimachinery/decode.ts"
import { invalid, type ApiError } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../pkg/apimachinery/field-errors.ts"
import { applyJsonPatch } from "../../../pkg/apimachinery/patch/json.ts"
import { applyMergePatch } from "../../../pkg/apimachinery/patch/merge.ts"
import { applyStrategicMergePatch } from "../../../pkg/apimachinery/patch/strategic.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Patch } from "../../../pkg/client/client.ts"
import type { ApiRequest } from "../request.ts"
import { warnOf } from "./decode.ts"

export type PlainPatch = Patch & { readonly type: "json" | "merge" | "strategic" }

/**
 * An object as a patch makes it: what came out is checked as a body would be, and what is wrong with it is told as a
 * fault of the patch.
 * @throws ApiError Invalid when the result is no such object. Source: endpoints/handlers/patch.go
 * applyPatchToCurrentObject.
 */
export function patched<T extends KubeObject>(
  request: ApiRequest,
  resource: Resource<T>,
  patch: PlainPatch,
  old: T,
): T {
  const { fieldValidation } = request.options
  const json = changed(resource, patch, old)
  const refuse = (why: string): ApiError =>
    invalid({ group: "", kind: "" }, "", [invalidValue("patch", JSON.stringify(json), why)])
  const { object, faults } = decodeObject(resource, json, {
    fieldValidation,
    bodyFaults: request.bodyFaults,
    known: old,
    refuse,
  })
  // Go's patches lose the order of fields, so faults are told in that of their names.
  warnOf(faults.toSorted(), request)
  return object
}

function changed({ schema }: Resource, { type, body }: PlainPatch, old: object): unknown {
  switch (type) {
    case "json":
      return applyJsonPatch(old, body)
    case "merge":
      return applyMergePatch(old, body)
    case "strategic":
      return applyStrategicMergePatch(schema, old, body)
  }
}
