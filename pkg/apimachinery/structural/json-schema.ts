/**
 * The OpenAPI schema of a custom resource, as in its definition. Source: apiextensions-apiserver
 * pkg/apis/apiextensions/v1/types_jsonschema.go JSONSchemaProps.
 */
export interface JsonSchema {
  readonly id?: string | undefined
  readonly $schema?: string | undefined
  readonly $ref?: string | undefined
  readonly description?: string | undefined
  readonly type?: string | undefined
  readonly format?: string | undefined
  readonly title?: string | undefined
  readonly default?: unknown
  readonly maximum?: number | undefined
  readonly exclusiveMaximum?: boolean | undefined
  readonly minimum?: number | undefined
  readonly exclusiveMinimum?: boolean | undefined
  readonly maxLength?: number | undefined
  readonly minLength?: number | undefined
  readonly pattern?: string | undefined
  readonly maxItems?: number | undefined
  readonly minItems?: number | undefined
  readonly uniqueItems?: boolean | undefined
  readonly multipleOf?: number | undefined
  readonly enum?: readonly unknown[] | undefined
  readonly maxProperties?: number | undefined
  readonly minProperties?: number | undefined
  readonly required?: readonly string[] | undefined
  readonly items?: JsonSchema | readonly JsonSchema[] | undefined
  readonly allOf?: readonly JsonSchema[] | undefined
  readonly oneOf?: readonly JsonSchema[] | undefined
  readonly anyOf?: readonly JsonSchema[] | undefined
  readonly not?: JsonSchema | undefined
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined
  readonly additionalProperties?: JsonSchema | boolean | undefined
  readonly patternProperties?: Readonly<Record<string, JsonSchema>> | undefined
  readonly dependencies?: Readonly<Record<string, JsonSchema | readonly string[]>> | undefined
  readonly additionalItems?: JsonSchema | boolean | undefined
  readonly definitions?: Readonly<Record<string, JsonSchema>> | undefined
  readonly externalDocs?: unknown
  readonly example?: unknown
  readonly nullable?: boolean | undefined
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean | undefined
  readonly "x-kubernetes-embedded-resource"?: boolean | undefined
  readonly "x-kubernetes-int-or-string"?: boolean | undefined
  readonly "x-kubernetes-list-map-keys"?: readonly string[] | undefined
  readonly "x-kubernetes-list-type"?: string | undefined
  readonly "x-kubernetes-map-type"?: string | undefined
  readonly "x-kubernetes-validations"?: readonly ValidationRule[] | undefined
}

/** A rule in CEL. */
export interface ValidationRule {
  readonly rule: string
  readonly message?: string | undefined
  readonly messageExpression?: string | undefined
  readonly reason?: string | undefined
  readonly fieldPath?: string | undefined
  readonly optionalOldSelf?: boolean | undefined
}

/** Returns the schema of a list's items; undefined when there is none, or several. */
export const itemsOf = ({ items }: JsonSchema): JsonSchema | undefined =>
  items === undefined || Array.isArray(items) ? undefined : (items as JsonSchema)

/** Returns the schema of a map's values; undefined when there is none, or any value is allowed. */
export const membersOf = ({ additionalProperties }: JsonSchema): JsonSchema | undefined =>
  typeof additionalProperties === "object" ? additionalProperties : undefined

/**
 * Calls `found` for the schema and for each one inside it, at any depth, until it returns true. Returns whether it did.
 */
export function someSchema(schema: JsonSchema | undefined, found: (schema: JsonSchema) => boolean): boolean {
  if (schema === undefined) return false
  if (found(schema)) return true
  const { items, allOf, anyOf, oneOf, not, properties, patternProperties, definitions, dependencies } = schema
  const among = (schemas: readonly JsonSchema[] | undefined): boolean =>
    schemas?.some((each) => someSchema(each, found)) === true
  const within = (schemas: Readonly<Record<string, JsonSchema>> | undefined): boolean =>
    schemas !== undefined && among(Object.values(schemas))
  return (
    (Array.isArray(items) ? among(items as readonly JsonSchema[]) : someSchema(itemsOf(schema), found)) ||
    among(allOf) ||
    among(anyOf) ||
    among(oneOf) ||
    someSchema(not, found) ||
    within(properties) ||
    someSchema(membersOf(schema), found) ||
    within(patternProperties) ||
    (typeof schema.additionalItems === "object" && someSchema(schema.additionalItems, found)) ||
    within(definitions) ||
    (dependencies !== undefined &&
      Object.values(dependencies).some((each) => !Array.isArray(each) && someSchema(each as JsonSchema, found)))
  )
}
