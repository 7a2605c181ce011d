import { DYN, objectOf, STRING, type CelField, type CelType } from "./type.ts"

/**
 * The types that expressions of mutating policies can build: `Object` and the types below it, named by path
 * (`Object.spec.template`), and `JSONPatch`. They are not checked against a schema at compile time. Source: apiserver
 * pkg/cel/mutation.
 */

/** Has a field for every name. */
class AnyFields extends Map<string, CelField> {
  override get(property: string): CelField {
    return { type: DYN, property }
  }
}

/** A field beyond the known ones has a type without a name, to which no value can be assigned. */
class PatchFields extends Map<string, CelField> {
  override get(property: string): CelField {
    return super.get(property) ?? { type: objectOf("", {}), property }
  }
}

export const OBJECT = objectOf("Object", new AnyFields())

export const JSON_PATCH_TYPE = objectOf(
  "JSONPatch",
  new PatchFields([
    ["op", { type: STRING, property: "op" }],
    ["path", { type: STRING, property: "path" }],
    ["from", { type: STRING, property: "from" }],
    ["value", { type: DYN, property: "value" }],
  ]),
)

/** Returns the type with a name; undefined when no mutation has such a type. */
export function mutationType(name: string): CelType | undefined {
  if (name === JSON_PATCH_TYPE.name) return JSON_PATCH_TYPE
  if (name === OBJECT.name) return OBJECT
  return name.startsWith(`${OBJECT.name}.`) ? objectOf(name, new AnyFields()) : undefined
}
