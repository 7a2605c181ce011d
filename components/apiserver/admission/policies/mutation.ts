import { decodeObject } from "../../../../pkg/apimachinery/decoding/decode.ts"
import { ExactNumber } from "../../../../pkg/apimachinery/json/exact-number.ts"
import { mergeConfiguration } from "../../../../pkg/apimachinery/patch/apply/merge-configuration.ts"
import { applyJsonPatch, isFailedTest } from "../../../../pkg/apimachinery/patch/json.ts"
import { ApiError, badRequest } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { configurationOf } from "../../../../pkg/cel/values/made-object.ts"
import { jsonOf } from "../../../../pkg/cel/values/to-json.ts"
import { CelError, ListValue, MapValue, StructValue, type Value } from "../../../../pkg/cel/values/values.ts"

/**
 * Merges the `Object{}` that an expression returned into the object. Returns the result decoded and with defaults.
 * @throws Error with upstream's message when it cannot be merged. Source: policy/mutating/patch/smd.go.
 */
export function withConfiguration(kind: Resource, object: KubeObject, made: Value): KubeObject {
  checkTypeNames(made)
  const config = configurationOf(made as StructValue)
  if (config === undefined) throw new Error("invalid return type: *dynamic.ObjectVal")
  let merged: unknown
  try {
    merged = mergeConfiguration(kind, object, config)
  } catch (err) {
    throw new Error(`error applying patch: ${(err as Error).message}`, { cause: err })
  }
  try {
    return decodeObject(kind, merged, {
      fieldValidation: "Ignore",
      old: object,
      refuse: (why) => badRequest(why.replace(NARROWED, "cannot convert float64 to $1")),
    }).object
  } catch (err) {
    const { group, version } = kind
    const type = `${group}/${version}, Kind=${kind.kind}`
    throw new Error(`unable to convert unstructured object to ${type}: ${(err as Error).message}`, {
      cause: err,
    })
  }
}

/** Matches the error of Go's JSON decoder for a number with a fraction in an integer field. */
const NARROWED = /^json: cannot unmarshal number .* of type (u?int\d*)$/

/**
 * Applies the `JSONPatch{}` operations that an expression returned to the object. Returns the result decoded and with
 * defaults; the unchanged object when a `test` operation fails.
 * @throws ApiError when the result is not a valid object of the kind, which fails the request even if failurePolicy is
 * Ignore; Error when an operation cannot be applied. Source: policy/mutating/patch/json_patch.go.
 */
export function withOperations(kind: Resource, object: KubeObject, made: Value): KubeObject {
  const operations = Array.from(made as ListValue, operationOf)
  let patched: unknown
  try {
    patched = applyJsonPatch(object, operations)
  } catch (err) {
    if (!(err instanceof ApiError)) throw err
    if (isFailedTest(err)) return object
    throw new Error(`JSON Patch: ${typeof err.cause === "string" ? err.cause : err.message}`, { cause: err })
  }
  const refuse = (why: string) =>
    new ApiError("InternalError", `Internal error occurred: ${why}`, { causes: [{ message: why }] })
  // Custom objects are decoded without strict field checks.
  return kind.definition === undefined
    ? decodeObject(kind, patched, { fieldValidation: "Strict", old: object, refuse }).object
    : decodeObject(kind, patched, { fieldValidation: "Ignore", old: object }).object
}

/** Returns one `JSONPatch{}` value as JSON. Fields that were not set are empty. */
function operationOf(made: Value): Readonly<Record<string, unknown>> {
  const patch = made as StructValue
  const text = (field: string): string => (patch.has(field) === true ? (patch.get(field) as string) : "")
  const operation: Record<string, unknown> = { op: text("op"), path: text("path") }
  if (text("from") !== "") operation["from"] = text("from")
  if (patch.has("value") === true) {
    const value = patch.get("value")
    if (value instanceof StructValue) checkTypeNames(value)
    const json = jsonOf(value)
    if (json instanceof CelError)
      throw new Error(`JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${json.message}`)
    // Upstream converts through protobuf's JSON, which writes an int that a double cannot hold exactly as a string.
    operation["value"] = json instanceof ExactNumber ? json.text : json
  }
  return operation
}

/**
 * Checks that each object which an expression built has the type name of its path: `Object.spec` in the field `spec` of
 * an `Object`. @throws Error. Source: apiserver pkg/cel/mutation/dynamic CheckTypeNamesMatchFieldPathNames.
 */
function checkTypeNames(made: Value): void {
  const faults: string[] = []
  const walk = (value: Value, path: string): void => {
    if (value instanceof StructValue && value.isMade) {
      const { name } = value.type
      if (name !== path)
        faults.push(
          `unexpected type name ${JSON.stringify(name)}, expected ${JSON.stringify(path)}, which matches field name path from root Object type`,
        )
      for (const field of value.fieldNames()) walk(value.get(field), `${path}.${field}`)
    } else if (value instanceof ListValue) for (const item of value) walk(item, path)
    else if (value instanceof MapValue) for (const key of value.keys()) walk(value.find(key)!, path)
  }
  walk(made, made instanceof StructValue ? made.type.name : "")
  if (faults.length > 0) throw new Error(`type mismatch: ${faults.join("\n")}`)
}
