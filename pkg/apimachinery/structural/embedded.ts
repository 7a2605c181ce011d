import { decodeMessage } from "../decoding/decode.ts"
import { DecodeError } from "../decoding/decoder-cursor.ts"
import type { Cause } from "../errors.ts"
import { at, atKey, invalidValue, required } from "../validation/field-errors.ts"
import { ObjectMeta } from "../meta.ts"
import { isDNS1035Label, isPathSegmentName, oneProblem } from "../validation/names.ts"
import { validateObjectMeta } from "../validation/objectmeta.ts"
import { itemsOf, membersOf, someSchema, type JsonSchema } from "./json-schema.ts"
import { pushAll } from "../../lists/push-all.ts"

/**
 * Returns the faults of apiVersion, kind and metadata of embedded resources. Source: apiextensions-apiserver
 * pkg/apiserver/schema/objectmeta/validation.go.
 */
export function embeddedFaults(schema: JsonSchema, object: unknown): readonly Cause[] {
  if (!hasEmbedded(schema)) return []
  const causes: Cause[] = []
  within(schema, object, "", causes)
  return causes
}

const known = new WeakMap<JsonSchema, boolean>()

function hasEmbedded(schema: JsonSchema): boolean {
  let found = known.get(schema)
  if (found === undefined) {
    found = someSchema(schema, (each) => each["x-kubernetes-embedded-resource"] === true)
    known.set(schema, found)
  }
  return found
}

function within(schema: JsonSchema, value: unknown, path: string, causes: Cause[]): void {
  if (typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    if (items !== undefined) for (const [i, item] of value.entries()) within(items, item, at(path, i), causes)
    return
  }
  if (schema["x-kubernetes-embedded-resource"] === true)
    pushAll(causes, resourceFaults(value as Readonly<Record<string, unknown>>, path))
  const { properties = {} } = schema
  const members = membersOf(schema)
  for (const [name, inner] of Object.entries(value))
    if (Object.hasOwn(properties, name)) within(properties[name]!, inner, at(path, name), causes)
    else if (members !== undefined) within(members, inner, atKey(path, name), causes)
}

/**
 * Returns the faults of the embedded resource at `path`, which must have apiVersion and kind, but need not have
 * metadata.
 */
export function resourceFaults(resource: Readonly<Record<string, unknown>>, path: string): readonly Cause[] {
  const causes: Cause[] = []
  for (const name of ["apiVersion", "kind"]) if (resource[name] === undefined) causes.push(required(at(path, name)))
  const { apiVersion, kind, metadata } = resource
  if (apiVersion !== undefined) {
    if (typeof apiVersion !== "string")
      causes.push(invalidValue(at(path, "apiVersion"), apiVersion, "must be a string"))
    else if (apiVersion === "") causes.push(invalidValue(at(path, "apiVersion"), "", "must not be empty"))
    else if (apiVersion.split("/").length > 2)
      causes.push(invalidValue(at(path, "apiVersion"), apiVersion, `unexpected GroupVersion string: ${apiVersion}`))
  }
  if (kind !== undefined) {
    const problem = typeof kind === "string" && kind !== "" ? isDNS1035Label(kind.toLowerCase()) : undefined
    if (typeof kind !== "string") causes.push(invalidValue(at(path, "kind"), kind, "must be a string"))
    else if (kind === "") causes.push(invalidValue(at(path, "kind"), "", "must not be empty"))
    else if (problem !== undefined)
      causes.push(
        invalidValue(
          at(path, "kind"),
          kind,
          `may have mixed case, but should otherwise match: ${oneProblem(problem, ",")}`,
        ),
      )
  }
  if (metadata !== undefined) pushAll(causes, metadataFaults(metadata, at(path, "metadata")))
  return causes
}

function metadataFaults(metadata: unknown, path: string): readonly Cause[] {
  try {
    const decoded = decodeMessage(ObjectMeta, metadata).object as ObjectMeta
    const named = (decoded.name ?? "") === "" ? { ...decoded, name: "fakename" } : decoded
    const scope = (decoded.namespace ?? "") === "" ? "Cluster" : "Namespaced"
    return validateObjectMeta({ scope, validateName: isPathSegmentName }, named).map((cause) => ({
      ...cause,
      field: (cause.field ?? "").replace(/^metadata/, path),
    }))
  } catch (err) {
    if (err instanceof DecodeError) return [invalidValue(path, metadata, err.message)]
    throw err
  }
}
