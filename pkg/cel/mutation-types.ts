import { DYN, objectOf, STRING, type CelField, type CelType } from "./type.ts"

/**
 * The types that the expressions of mutating policies can make: `Object` and what is below it, named by its path
 * (`Object.spec.template`), and `JSONPatch`. No schema stands behind them when an expression is checked. Source:
 * apiserver pkg/cel/mutation.
 */

/** Every name is the name of a field. */
class AnyFields extends Map<string, CelField> {
  override get(property: string): CelField {
    return { type: DYN, property }
  }
}

/** Fields beyond those that are known have a type without a name, to which no value can be assigned. */
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

/** The type of a name; undefined where it is none of a mutation. */
export function mutationType(name: string): CelType | undefined {
  if (name === JSON_PATCH_TYPE.name) return JSON_PATCH_TYPE
  if (name === OBJECT.name) return OBJECT
  return name.startsWith(`${OBJECT.name}.`) ? objectOf(name, new AnyFields()) : undefined
}
