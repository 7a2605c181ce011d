import { finished } from "../../../pkg/apimachinery/finished.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { invalid, type ApiError } from "../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../pkg/apimachinery/validation/field-errors.ts"
import type { Type, Message } from "../../../pkg/apimachinery/field-spec.ts"
import { plain } from "../../../pkg/apimachinery/go/go-form.ts"
import { goText } from "../../../pkg/apimachinery/go/go-text.ts"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import { applyJsonPatch } from "../../../pkg/apimachinery/patch/json.ts"
import { applyMergePatch } from "../../../pkg/apimachinery/patch/merge.ts"
import { applyStrategicMergePatch } from "../../../pkg/apimachinery/patch/strategic.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Patch } from "../../../pkg/client/client.ts"
import type { ApiRequest } from "../call/request.ts"
import { warnOf } from "./decode.ts"
import { foreignKind } from "./foreign-kind.ts"

export type PlainPatch = Patch & { readonly type: "json" | "merge" | "strategic" }

/** Applies a patch to an object, as `patching`. */
export const patched = <T extends KubeObject>(
  request: ApiRequest,
  resource: Resource<T>,
  patch: PlainPatch,
  old: T,
): T => finished(patching(request, resource, patch, old))

/**
 * Applies a patch to an object, in steps. The result is checked like a body, and its faults are reported as faults of
 * the patch.
 * @throws ApiError Invalid when the result is no such object. Source: endpoints/handlers/patch.go
 * applyPatchToCurrentObject.
 */
export function* patching<T extends KubeObject>(
  request: ApiRequest,
  resource: Resource<T>,
  patch: PlainPatch,
  old: T,
): Generator<void, T> {
  const { fieldValidation } = request.options
  const json = changed(resource, patch, old)
  yield
  const refuse = (why: string): ApiError =>
    invalid({ group: "", kind: "" }, "", [
      invalidValue("patch", shown(resource, patch, json, old), patch.type === "strategic" ? converted(why) : why),
    ])
  const decoded = decodeObject(resource, json, {
    fieldValidation: fieldValidation === "Strict" ? "Warn" : fieldValidation,
    bodyFaults: request.bodyFaults,
    old: old,
    refuse,
    foreign: foreignKind,
  })
  // Go's patches lose the order of fields, so faults are sorted by name.
  const faults = decoded.faults.toSorted()
  if (fieldValidation === "Strict" && faults.length > 0) throw refuse(`strict decoding error: ${faults.join(", ")}`)
  warnOf(faults, request)
  return decoded.object
}

/**
 * Rewords a fault of Go's JSON decoder in the words of Go's converter, which reads the result of a strategic merge
 * patch. Source: apimachinery pkg/runtime/converter.go.
 */
function converted(why: string): string {
  const [, given, goType = ""] =
    /^json: cannot unmarshal (\w+) into Go (?:struct field \S+|value) of type (\S+)$/.exec(why) ?? []
  const from = FROM[given ?? ""]
  if (from === undefined) return why
  if (goType.startsWith("[]")) return `cannot restore slice from ${from}`
  if (goType.startsWith("map[")) return `cannot restore map from ${from}`
  if (goType.includes(".")) return `cannot restore struct from: ${from}`
  // Go could make a character of a number, so the converter has another message for it.
  return given === "number" && goType === "string" ? "cannot convert int64 to string" : `unrecognized type: ${goType}`
}
const FROM: Readonly<Record<string, string>> = {
  string: "string",
  number: "int64",
  bool: "bool",
  array: "slice",
  object: "map",
}

/** What a fault shows: the patch for strategic merge patches, the result for others. */
const shown = ({ schema }: Resource, { type, body }: PlainPatch, json: unknown, old: unknown): string =>
  type === "strategic" ? goText(body) : JSON.stringify(asGoPatches(typeOf(schema), json, old))
/** Undefined for custom resources, which Go holds as maps. */
const typeOf = (schema: Message): Type | undefined =>
  schema.rules.structural === undefined ? { kind: "message", message: () => schema } : undefined

/**
 * Returns the result of a patch in the field order of Go: changed objects are sorted by field name, unchanged ones have
 * the order of Go's types. Source: gopkg.in/evanphx/json-patch.v4.
 */
function asGoPatches(type: Type | undefined, json: unknown, old: unknown): unknown {
  if (json === old && type !== undefined) return plain(type, json)
  if (Array.isArray(json)) {
    const of = type?.kind === "list" ? type.of : undefined
    return json.map((item) => asGoPatches(of, item, Array.isArray(old) && old.includes(item) ? item : undefined))
  }
  if (!isJsonObject(json)) return json
  return Object.fromEntries(
    Object.entries(json)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => [
        key,
        asGoPatches(memberType(type, key), value, isJsonObject(old) ? old[key] : undefined),
      ]),
  )
}

function memberType(type: Type | undefined, key: string): Type | undefined {
  if (type?.kind === "map") return type.of
  if (type?.kind !== "message") return undefined
  const { fields } = type.message()
  return Object.hasOwn(fields, key) ? fields[key]!.spec.type : undefined
}

function changed({ schema, apiVersion, kind }: Resource, { type, body }: PlainPatch, old: object): unknown {
  switch (type) {
    case "json":
      return applyJsonPatch(old, body)
    case "merge":
      return applyMergePatch(old, body)
    case "strategic": {
      const made = applyStrategicMergePatch(schema, old, body) as Partial<KubeObject>
      // kind and apiVersion in the patch are ignored.
      if (made.kind === kind && made.apiVersion === apiVersion) return made
      return typeof made.kind === "string" && typeof made.apiVersion === "string"
        ? { ...made, apiVersion, kind }
        : { apiVersion, kind, ...made }
    }
  }
}
