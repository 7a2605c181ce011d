import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, atKey, forbiddenField, invalidValue, required } from "../../../../apimachinery/validation/field-errors.ts"
import { itemsOf, membersOf, someSchema, type JsonSchema } from "../../../../apimachinery/structural/json-schema.ts"
import { patternProblem } from "../../../../apimachinery/structural/pattern.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Returns why a schema is not structural: each value must have one type that is declared outside of anyOf, allOf, oneOf
 * and not, so that fields can be pruned and defaulted. Source: apiextensions-apiserver
 * pkg/apiserver/schema/validation.go and complete.go.
 */
export function structuralFaults(schema: JsonSchema, path: string): readonly Cause[] {
  return [...invariantFaults(schema, "root", path), ...completenessFaults(schema, schema, path, path)].sort((a, b) =>
    textOf(a) < textOf(b) ? -1 : 1,
  )
}
const textOf = ({ field = "", message }: Cause): string => `${field}: ${message}`

/** Returns why a schema can never be structural; undefined when it can. Source: schema/convert.go. */
export function unsupported(schema: JsonSchema): string | undefined {
  let problem: string | undefined
  someSchema(schema, (each) => {
    problem =
      each.id !== undefined
        ? "OpenAPIV3Schema 'id' is not supported"
        : each.$schema !== undefined
          ? "OpenAPIV3Schema 'schema' is not supported"
          : each.$ref !== undefined
            ? "OpenAPIV3Schema '$ref' is not supported"
            : each.patternProperties !== undefined
              ? "OpenAPIV3Schema 'patternProperties' is not supported"
              : each.dependencies !== undefined
                ? "OpenAPIV3Schema 'dependencies' is not supported"
                : each.additionalItems !== undefined
                  ? "OpenAPIV3Schema 'additionalItems' is not supported"
                  : each.definitions !== undefined
                    ? "OpenAPIV3Schema 'definitions' is not supported"
                    : Array.isArray(each.items)
                      ? "OpenAPIV3Schema 'items' must be a schema, but is an array"
                      : each["x-kubernetes-preserve-unknown-fields"] === false
                        ? "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
                        : undefined
    return problem !== undefined
  })
  return problem
}

type Level = "root" | "item" | "field"

const TYPE_MISSING: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
}

const propertyAt = (path: string, name: string): string => atKey(at(path, "properties"), name)

function invariantFaults(schema: JsonSchema, level: Level, path: string): readonly Cause[] {
  const causes: Cause[] = []
  const { type = "", properties = {}, additionalProperties } = schema
  const items = itemsOf(schema)
  const members = membersOf(schema)
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true
  const keeps = schema["x-kubernetes-preserve-unknown-fields"] === true
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true
  if (items !== undefined) pushAll(causes, invariantFaults(items, "item", at(path, "items")))
  else if (type === "array") causes.push(required(at(path, "items"), "must be specified"))
  for (const [name, property] of Object.entries(properties))
    pushAll(causes, invariantFaults(property, "field", propertyAt(path, name)))
  if (additionalProperties !== undefined) {
    if (level === "root") causes.push(forbiddenField(at(path, "additionalProperties"), "must not be used at the root"))
    if (members !== undefined) pushAll(causes, invariantFaults(members, "field", at(path, "additionalProperties")))
  }
  if (isIntOrString && keeps)
    causes.push(
      invalidValue(
        at(path, "x-kubernetes-preserve-unknown-fields"),
        true,
        "must be false if x-kubernetes-int-or-string is true",
      ),
    )
  if (isIntOrString && isEmbedded)
    causes.push(
      invalidValue(
        at(path, "x-kubernetes-embedded-resource"),
        true,
        "must be false if x-kubernetes-int-or-string is true",
      ),
    )
  pushAll(causes, valueFaults(schema, path, isAnyOfPattern(schema), isAllOfPattern(schema)))
  if (isEmbedded && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true"
    causes.push(type === "" ? required(at(path, "type"), detail) : invalidValue(at(path, "type"), type, detail))
  } else if (type === "" && !isIntOrString && !keeps) causes.push(required(at(path, "type"), TYPE_MISSING[level]))
  if (isEmbedded && additionalProperties !== undefined)
    causes.push(
      forbiddenField(at(path, "additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set"),
    )
  if (level === "root" && type !== "" && type !== "object")
    causes.push(invalidValue(at(path, "type"), type, "must be object at the root"))
  const isResource = level === "root" || isEmbedded
  if (isResource)
    for (const name of ["kind", "apiVersion"]) {
      const property = Object.hasOwn(properties, name) ? properties[name]! : undefined
      if (property !== undefined && property.type !== "string")
        causes.push(invalidValue(at(propertyAt(path, name), "type"), property.type ?? "", "must be string"))
    }
  if (Object.hasOwn(properties, "metadata"))
    pushAll(causes, metadataFaults(properties["metadata"]!, isResource, level, propertyAt(path, "metadata")))
  if (isEmbedded && !keeps && Object.keys(properties).length === 0)
    causes.push(
      required(
        at(path, "properties"),
        "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
      ),
    )
  return causes
}

function metadataFaults(schema: JsonSchema, isResource: boolean, level: Level, path: string): readonly Cause[] {
  const causes: Cause[] = []
  if (isResource && schema.type !== "object")
    causes.push(invalidValue(at(path, "type"), schema.type ?? "", "must be object"))
  if (level !== "root") return causes
  const { type: _type, default: _default, properties = {}, ...others } = schema
  const names = Object.keys(properties)
  const isFree = names.some((name) => name !== "name" && name !== "generateName")
  if (isFree || Object.values(others).some((value) => value !== undefined))
    causes.push(
      forbiddenField(
        path,
        "must not specify anything other than name and generateName, but metadata is implicitly specified",
      ),
    )
  return causes
}

const INT_OR_STRING: readonly JsonSchema[] = [{ type: "integer" }, { type: "string" }]
const isAnyOfPattern = ({ anyOf }: JsonSchema): boolean => deepEqual(anyOf, INT_OR_STRING)
const isAllOfPattern = ({ allOf = [] }: JsonSchema): boolean => allOf[0] !== undefined && isAnyOfPattern(allOf[0])

/** Checks anyOf, allOf, oneOf, not and pattern. The two patterns of int-or-string may declare types. */
function valueFaults(
  { anyOf = [], allOf = [], oneOf = [], not, pattern = "" }: JsonSchema,
  path: string,
  skipsAnyOf: boolean,
  skipsFirstAllOf: boolean,
): readonly Cause[] {
  const causes: Cause[] = []
  if (!skipsAnyOf) for (const [i, each] of anyOf.entries()) pushAll(causes, nestedFaults(each, at(path, "anyOf", i)))
  for (const [i, each] of allOf.entries())
    pushAll(causes, nestedFaults(each, at(path, "allOf", i), skipsFirstAllOf && i === 0))
  for (const [i, each] of oneOf.entries()) pushAll(causes, nestedFaults(each, at(path, "oneOf", i)))
  if (not !== undefined) pushAll(causes, nestedFaults(not, at(path, "not")))
  const problem = pattern === "" ? undefined : patternProblem(pattern)
  if (problem !== undefined)
    causes.push(invalidValue(at(path, "pattern"), pattern, `must be a valid regular expression, but isn't: ${problem}`))
  return causes
}

const MUST_BE = (what: string): string => `must be ${what} to be structural`

function nestedFaults(schema: JsonSchema, path: string, skipsAnyOf = false): readonly Cause[] {
  const causes: Cause[] = [...valueFaults(schema, path, skipsAnyOf, false)]
  const items = itemsOf(schema)
  if (items !== undefined) pushAll(causes, nestedFaults(items, at(path, "items")))
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    pushAll(causes, nestedFaults(property, propertyAt(path, name)))
  const forbid = (name: keyof JsonSchema, is: boolean, what: string): void => {
    if (is) causes.push(forbiddenField(at(path, name), MUST_BE(what)))
  }
  forbid("type", (schema.type ?? "") !== "", "empty")
  forbid("additionalProperties", schema.additionalProperties !== undefined, "undefined")
  forbid("default", schema.default !== undefined && schema.default !== null, "undefined")
  forbid("title", (schema.title ?? "") !== "", "empty")
  forbid("description", (schema.description ?? "") !== "", "empty")
  forbid("nullable", schema.nullable === true, "false")
  forbid("x-kubernetes-preserve-unknown-fields", schema["x-kubernetes-preserve-unknown-fields"] === true, "false")
  forbid("x-kubernetes-embedded-resource", schema["x-kubernetes-embedded-resource"] === true, "false")
  forbid("x-kubernetes-int-or-string", schema["x-kubernetes-int-or-string"] === true, "false")
  forbid("x-kubernetes-list-map-keys", (schema["x-kubernetes-list-map-keys"] ?? []).length > 0, "empty")
  forbid("x-kubernetes-list-type", schema["x-kubernetes-list-type"] !== undefined, "undefined")
  forbid("x-kubernetes-map-type", schema["x-kubernetes-map-type"] !== undefined, "undefined")
  forbid("x-kubernetes-validations", (schema["x-kubernetes-validations"] ?? []).length > 0, "empty")
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, "metadata"))
    causes.push(forbiddenField(propertyAt(path, "metadata"), "must not be specified in a nested context"))
  return causes
}

/** Checks that every value in anyOf and the like is declared outside of them. `described` is that declaration. */
function completenessFaults(
  { not, allOf = [], anyOf = [], oneOf = [] }: JsonSchema,
  described: JsonSchema,
  path: string,
  from: string,
): readonly Cause[] {
  const nested = (each: JsonSchema, step: string): readonly Cause[] => nestedCompleteness(each, described, path, step)
  return [
    ...(not === undefined ? [] : nested(not, at(from, "not"))),
    ...allOf.flatMap((each, i) => nested(each, at(from, "allOf", i))),
    ...anyOf.flatMap((each, i) => nested(each, at(from, "anyOf", i))),
    ...oneOf.flatMap((each, i) => nested(each, at(from, "oneOf", i))),
  ]
}

function nestedCompleteness(
  schema: JsonSchema,
  described: JsonSchema | undefined,
  path: string,
  from: string,
): readonly Cause[] {
  if (described === undefined) return [required(path, `because it is defined in ${from}`)]
  const items = itemsOf(schema)
  return [
    ...completenessFaults(schema, described, path, from),
    ...(items === undefined ? [] : nestedCompleteness(items, itemsOf(described), at(path, "items"), at(from, "items"))),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      nestedCompleteness(
        property,
        described.properties !== undefined && Object.hasOwn(described.properties, name)
          ? described.properties[name]
          : undefined,
        propertyAt(path, name),
        propertyAt(from, name),
      ),
    ),
  ]
}
