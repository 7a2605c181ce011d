import { itemsOf, membersOf, type JsonSchema } from "../structural/json-schema.ts"

type Schema = Readonly<Record<string, unknown>>

/** Schemas of metadata, apiVersion and kind, to which the schema of a custom object refers. */
export interface ObjectProperties {
  readonly apiVersion: Schema
  readonly kind: Schema
  readonly metadata: Schema
}

/**
 * Returns the definition of a custom resource for a document. Source: apiextensions-apiserver
 * pkg/controller/openapi/builder buildKubeNative, pkg/controller/openapi/v2/conversion.go.
 */
export function customDefinition(schema: JsonSchema, object: ObjectProperties, version: 2 | 3): Schema {
  // In v2 kubectl refuses unknown fields as soon as any property is declared.
  if (version === 2 && schema["x-kubernetes-preserve-unknown-fields"] === true) return { type: "object" }
  const shown = shownSchema(schema, object, version)
  return { ...shown, properties: { ...(shown["properties"] as Schema | undefined), ...object } }
}

function shownSchema(given: JsonSchema, object: ObjectProperties, version: 2 | 3): Schema {
  const schema = version === 2 ? forVersion2(given) : given
  const items = itemsOf(schema)
  const members = membersOf(schema)
  const inner = (each: JsonSchema): Schema => shownSchema(each, object, version)
  const shown: Record<string, unknown> = {
    ...schema,
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(members === undefined ? {} : { additionalProperties: inner(members) }),
    ...(schema.properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [name, inner(each)])),
        }),
  }
  const keeps = schema["x-kubernetes-preserve-unknown-fields"] === true
  if (schema["x-kubernetes-embedded-resource"] !== true || (version === 2 && keeps)) return shown
  const required = [...(schema.required ?? [])]
  for (const name of ["kind", "apiVersion"]) if (!required.includes(name)) required.push(name)
  return { ...shown, required, properties: { ...(shown["properties"] as Schema | undefined), ...object } }
}

/**
 * Converts a schema to version 2, which has no alternatives and no null, and in which kubectl accepts no unknown fields
 * beside properties.
 */
function forVersion2(schema: JsonSchema): JsonSchema {
  const {
    anyOf: _anyOf,
    allOf: _allOf,
    oneOf: _oneOf,
    not: _not,
    nullable = false,
    items,
    properties,
    type,
    required,
    ...others
  } = schema
  const keeps = schema["x-kubernetes-preserve-unknown-fields"] === true
  const isOpen = nullable || keeps
  const isTyped = !nullable && !(keeps && type === "object") && !(type === "array" && (items === undefined || isOpen))
  const left =
    membersOf(schema)?.nullable === true
      ? []
      : (required ?? []).filter((name) => isOpen || properties?.[name]?.nullable !== true)
  return {
    ...others,
    ...(isTyped && type !== undefined ? { type } : {}),
    ...(isOpen || items === undefined ? {} : { items }),
    ...(isOpen || properties === undefined ? {} : { properties }),
    ...(left.length === 0 ? {} : { required: left }),
  }
}
