import { isGoMap } from "../../go-fmt/go-number.ts"

/** A schema of OpenAPI v3, as far as `explain` reads it. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly externalDocs?: { readonly description?: string; readonly url?: string }
}

/** Returns what a reference means; undefined for a reference to another document, or to nothing. */
export function resolveRef(ref: string | undefined, document: object): Schema | undefined {
  if (ref === undefined || !ref.startsWith("#")) return undefined
  let value: unknown = document
  for (const key of decodeURIComponent(ref.slice(1)).split("/")) {
    if (key === "") continue
    if (!isGoMap(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return isGoMap(value) ? value : undefined
}

/** Returns a schema that says something; undefined for `{}`, which templates take for none. */
export const filled = (schema: unknown): Schema | undefined =>
  isGoMap(schema) && Object.keys(schema).length > 0 ? schema : undefined

/** Returns the schema of a map's values. */
export const valuesOf = ({ additionalProperties }: Schema): Schema | undefined => filled(additionalProperties)

/** Returns a schema in place of a reference to it. */
export const resolved = (schema: Schema, document: object): Schema =>
  filled(resolveRef(schema.$ref, document)) ?? schema

/** Returns the type of a field in short: `string`, `[]Container`, `map[string]Quantity`. */
export function typeGuess(given: Schema | undefined, document: object): string {
  const schema = filled(given)
  if (schema === undefined) throw new Error("expected schema argument to subtemplate 'typeguess'")
  const items = filled(schema.items)
  if (items !== undefined) return `[]${typeGuess(items, document)}`
  const values = valuesOf(schema)
  if (values !== undefined) return `map[string]${typeGuess(values, document)}`
  if (schema.allOf?.length === 1 && filled(schema.properties) === undefined) return typeGuess(schema.allOf[0], document)
  if (schema.$ref === undefined) return schema.type === "object" ? "Object" : orObject(schema.type)
  const type = filled(resolveRef(schema.$ref, document))?.type ?? ""
  // Only objects are known by the name of their type.
  return type === "" || type === "object" ? orObject(schema.$ref.split("/").at(-1)!.split(".").at(-1)) : type
}

const orObject = (type: string | undefined): string => (type === undefined || type === "" ? "Object" : type)
