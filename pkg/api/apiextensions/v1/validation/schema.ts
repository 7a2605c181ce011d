import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from "../../../../apimachinery/validation/field-errors.ts"
import { fieldAt } from "../../../../apimachinery/structural/field-path.ts"
import {
  itemsOf,
  membersOf,
  type JsonSchema,
  type ValidationRule,
} from "../../../../apimachinery/structural/json-schema.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/** Which checks are relaxed for a schema that was accepted under older rules. */
export interface SchemaOptions {
  readonly requireAtomicSets: boolean
  readonly requireListKeys: boolean
  readonly requireKnownTypes: boolean
}

/** The place of a schema in the object. */
interface Place {
  readonly isRoot: boolean
  /** Whether it describes apiVersion, kind or metadata of an object. */
  readonly isMetadata: boolean
  /** Why a default is not allowed; undefined when it is. */
  readonly noDefaults: string | undefined
}

/**
 * Returns the faults of a schema by itself. Source: apiextensions-apiserver pkg/apis/apiextensions/validation
 * ValidateCustomResourceDefinitionOpenAPISchema.
 */
export const openApiFaults = (schema: JsonSchema, path: string, options: SchemaOptions): readonly Cause[] =>
  faults(schema, path, { isRoot: true, isMetadata: false, noDefaults: undefined }, options)

const META: ReadonlySet<string> = new Set(["metadata", "kind", "apiVersion"])

function faults(schema: JsonSchema, path: string, place: Place, options: SchemaOptions): readonly Cause[] {
  const causes: Cause[] = [...keywordFaults(schema, path, place, options)]
  const inside = (inner: JsonSchema, where: string, at: Place = { ...place, isRoot: false }): void => {
    pushAll(causes, faults(inner, where, at, options))
  }
  if (schema.uniqueItems === true)
    causes.push(
      forbiddenField(
        at(path, "uniqueItems"),
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ),
    )
  const { properties = {}, additionalProperties } = schema
  const members = membersOf(schema)
  if (additionalProperties !== undefined) {
    if (Object.keys(properties).length > 0 && additionalProperties !== true)
      causes.push(
        forbiddenField(at(path, "additionalProperties"), "additionalProperties and properties are mutual exclusive"),
      )
    if (members !== undefined)
      inside(members, at(path, "additionalProperties"), {
        ...place,
        isRoot: false,
        ...(place.isMetadata ? { noDefaults: "inside additionalProperties applying to object metadata" } : {}),
      })
  }
  for (const [name, property] of Object.entries(properties)) {
    const isMeta = (place.isRoot || schema["x-kubernetes-embedded-resource"] === true) && META.has(name)
    inside(property, atKey(at(path, "properties"), name), {
      isRoot: false,
      isMetadata: place.isMetadata || isMeta,
      noDefaults: isMeta && place.isRoot ? `in top-level ${name}` : place.noDefaults,
    })
  }
  if (schema.not !== undefined) inside(schema.not, at(path, "not"))
  for (const name of ["allOf", "oneOf", "anyOf"] as const)
    for (const [i, each] of (schema[name] ?? []).entries()) inside(each, at(path, name, i))
  for (const [name, each] of Object.entries(schema.definitions ?? {}))
    inside(each, atKey(at(path, "definitions"), name))
  const items = itemsOf(schema)
  if (items !== undefined) inside(items, at(path, "items"))
  if (Array.isArray(schema.items))
    for (const [i, each] of (schema.items as readonly JsonSchema[]).entries()) inside(each, at(path, "items", i))
  for (const [name, each] of Object.entries(schema.dependencies ?? {}))
    if (!Array.isArray(each)) inside(each as JsonSchema, atKey(at(path, "dependencies"), name))
  pushAll(causes, mergeFaults(schema, path, options))
  for (const [i, rule] of (schema["x-kubernetes-validations"] ?? []).entries())
    pushAll(causes, ruleFaults(schema, rule, at(path, "x-kubernetes-validations", i)))
  return causes
}

const TYPES = ["array", "boolean", "integer", "number", "object", "string"]

/** Checks for keywords that are not supported, or not at this place. */
function keywordFaults(schema: JsonSchema, path: string, place: Place, options: SchemaOptions): readonly Cause[] {
  const causes: Cause[] = []
  const forbid = (name: keyof JsonSchema, is: boolean, detail = `${name} is not supported`): void => {
    if (is) causes.push(forbiddenField(at(path, name), detail))
  }
  const { type = "" } = schema
  if (options.requireKnownTypes && type !== "" && !TYPES.includes(type))
    causes.push(notSupported(at(path, "type"), type, TYPES))
  forbid(
    "default",
    schema.default !== undefined && schema.default !== null && place.noDefaults !== undefined,
    `must not be set ${place.noDefaults ?? ""}`,
  )
  forbid("id", (schema.id ?? "") !== "")
  forbid("additionalItems", schema.additionalItems !== undefined)
  forbid("patternProperties", Object.keys(schema.patternProperties ?? {}).length > 0)
  forbid("definitions", Object.keys(schema.definitions ?? {}).length > 0)
  forbid("dependencies", schema.dependencies !== undefined)
  forbid("$ref", schema.$ref !== undefined)
  forbid("type", type === "null", "type cannot be set to null, use nullable as an alternative")
  forbid("items", Array.isArray(schema.items), "items must be a schema object and not an array")
  forbid(
    "x-kubernetes-embedded-resource",
    place.isMetadata && schema["x-kubernetes-embedded-resource"] === true,
    "must not be used inside of resource meta",
  )
  return causes
}

/** Checks the keywords about the merge of lists and objects. */
function mergeFaults(schema: JsonSchema, path: string, options: SchemaOptions): readonly Cause[] {
  const causes: Cause[] = []
  const { type = "" } = schema
  const mapType = schema["x-kubernetes-map-type"]
  const listType = schema["x-kubernetes-list-type"]
  const keys = schema["x-kubernetes-list-map-keys"] ?? []
  const items = itemsOf(schema)
  if (schema["x-kubernetes-preserve-unknown-fields"] === false)
    causes.push(invalidValue(at(path, "x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined"))
  const needType = (wanted: string, keyword: string): void => {
    const detail = `must be ${wanted} if ${keyword} is specified`
    causes.push(type === "" ? required(at(path, "type"), detail) : invalidValue(at(path, "type"), type, detail))
  }
  if (mapType !== undefined && type !== "object") needType("object", "x-kubernetes-map-type")
  if (mapType !== undefined && mapType !== "atomic" && mapType !== "granular")
    causes.push(notSupported(at(path, "x-kubernetes-map-type"), mapType, ["atomic", "granular"]))
  if (listType !== undefined && type !== "array") needType("array", "x-kubernetes-list-type")
  else if (options.requireAtomicSets && listType === "set" && items !== undefined)
    pushAll(causes, setItemFaults(items, at(path, "items")))
  if (listType !== undefined && !["atomic", "set", "map"].includes(listType))
    causes.push(notSupported(at(path, "x-kubernetes-list-type"), listType, ["atomic", "set", "map"]))
  if (keys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty"
    const field = at(path, "x-kubernetes-list-type")
    causes.push(listType === undefined ? required(field, detail) : invalidValue(field, listType, detail))
  }
  if (listType === "map") pushAll(causes, keyFaults(schema, keys, path))
  return options.requireListKeys ? [...causes, ...listItemFaults(schema, path)] : causes
}

const ATOMIC_ITEM = "must be atomic as item of a list with x-kubernetes-list-type=set"

/** Whether the items of a set are compared as a whole. */
export function isAtomicItem(items: JsonSchema): boolean {
  if (items.type === "array") return (items["x-kubernetes-list-type"] ?? "atomic") === "atomic"
  return items.type !== "object" || items["x-kubernetes-map-type"] === "atomic"
}

function setItemFaults(items: JsonSchema, path: string): readonly Cause[] {
  if (isAtomicItem(items)) return []
  const keyword = items.type === "array" ? "x-kubernetes-list-type" : "x-kubernetes-map-type"
  return [invalidValue(at(path, keyword), items["x-kubernetes-list-type"], ATOMIC_ITEM)]
}

function keyFaults(schema: JsonSchema, keys: readonly string[], path: string): readonly Cause[] {
  const causes: Cause[] = []
  const keysPath = at(path, "x-kubernetes-list-map-keys")
  if (keys.length === 0) causes.push(required(keysPath, "must not be empty if x-kubernetes-list-type is map"))
  if (schema.items === undefined)
    causes.push(required(at(path, "items"), "must have a schema if x-kubernetes-list-type is map"))
  if (Array.isArray(schema.items))
    causes.push(
      invalidValue(at(path, "items"), schema.items, "must only have a single schema if x-kubernetes-list-type is map"),
    )
  const items = itemsOf(schema)
  if (items === undefined) return causes
  if (items.type !== "object") {
    causes.push(
      invalidValue(
        at(path, "items", "type"),
        items.type ?? "",
        "must be object if parent array's x-kubernetes-list-type is map",
      ),
    )
    return causes
  }
  const seen = new Set<string>()
  for (const key of keys) {
    const property =
      items.properties !== undefined && Object.hasOwn(items.properties, key) ? items.properties[key] : undefined
    if (property === undefined)
      causes.push(invalidValue(keysPath, keys, "entries must all be names of item properties"))
    else if (property.type === "array" || property.type === "object")
      causes.push(
        invalidValue(
          at(atKey(at(path, "items", "properties"), key), "type"),
          items.type,
          "must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
      )
    if (seen.has(key)) causes.push(invalidValue(keysPath, keys, "must not contain duplicate entries"))
    seen.add(key)
  }
  return causes
}

/** Checks that every item has the keys, and that items cannot be null. */
export function listItemFaults(schema: JsonSchema, path: string): readonly Cause[] {
  const causes: Cause[] = []
  const listType = schema["x-kubernetes-list-type"]
  const items = itemsOf(schema)
  if (items === undefined || (listType !== "set" && listType !== "map")) return causes
  if (items.nullable === true)
    causes.push(
      forbiddenField(at(path, "items", "nullable"), `cannot be nullable when x-kubernetes-list-type is ${listType}`),
    )
  if (listType === "set") return causes
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const property =
      items.properties !== undefined && Object.hasOwn(items.properties, key) ? items.properties[key] : undefined
    if (property === undefined) continue
    const where = atKey(at(path, "items", "properties"), key)
    const hasDefault = property.default !== undefined && property.default !== null
    if (items.required?.includes(key) !== true && !hasDefault)
      causes.push(
        required(
          at(where, "default"),
          "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
      )
    if (property.nullable === true)
      causes.push(
        forbiddenField(
          at(where, "nullable"),
          "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
        ),
      )
  }
  return causes
}

const REASONS = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]
const hasNewlines = (text: string): boolean => /[\n\r]/.test(text)

/** Checks a rule except its expressions. */
function ruleFaults(schema: JsonSchema, given: ValidationRule, path: string): readonly Cause[] {
  const causes: Cause[] = []
  const { rule, message = "", messageExpression = "", reason, fieldPath = "" } = given
  if (rule.trim() === "") causes.push(required(at(path, "rule"), "rule is not specified"))
  else if (message !== "" && message.trim() === "")
    causes.push(invalidValue(at(path, "message"), message, "must be non-empty if specified"))
  else if (hasNewlines(message.trim()))
    causes.push(invalidValue(at(path, "message"), message, "must not contain line breaks"))
  else if (hasNewlines(rule.trim()) && message.trim() === "")
    causes.push(required(at(path, "message"), "message must be specified if rule contains line breaks"))
  if (messageExpression !== "" && messageExpression.trim() === "")
    causes.push(required(at(path, "messageExpression"), "messageExpression must be non-empty if specified"))
  if (reason !== undefined && !REASONS.includes(reason)) causes.push(notSupported(at(path, "reason"), reason, REASONS))
  if (fieldPath === "") return causes
  const field = at(path, "fieldPath")
  if (fieldPath.trim() === "") causes.push(invalidValue(field, fieldPath, "must be non-empty if specified"))
  if (hasNewlines(fieldPath)) causes.push(invalidValue(field, fieldPath, "must not contain line breaks"))
  if (typeof fieldAt(fieldPath, schema) === "string")
    causes.push(invalidValue(field, fieldPath, "must be a valid path"))
  return causes
}
