import type { FieldSpec, Type, Message } from "../../field-spec.ts"
import { isJsonObject } from "../../json/json-value.ts"
import { itemsOf, membersOf, type JsonSchema } from "../../structural/json-schema.ts"

/**
 * Returns the paths of the atomic lists, maps and structs in a value of `message`: `.spec.tolerations`,
 * `.spec.containers[0].args`. Setting a part of an atomic value would remove the rest of it. Source: apiserver
 * policy/mutating/patch/smd.go findAtomics.
 */
export function atomicsIn(message: Message, value: unknown): readonly string[] {
  const found: string[] = []
  inMessage(message, value, "", found)
  return found
}

function inMessage({ fields, rules }: Message, value: unknown, path: string, found: string[]): void {
  if (rules.ownJson !== undefined) return inAnything(value, path, found)
  if (!isJsonObject(value)) return
  if (rules.mapType === "atomic") found.push(path)
  for (const [name, inner] of Object.entries(value)) {
    const spec = fields[name]?.spec
    const property = rules.structural?.schema.properties?.[name]
    if (spec !== undefined) inType(spec.type, inner, `${path}.${name}`, found, spec)
    else if (property !== undefined) inSchema(property, inner, `${path}.${name}`, found)
  }
}

/** As upstream, the values of maps are not examined. */
function inType(type: Type, value: unknown, path: string, found: string[], spec?: FieldSpec): void {
  switch (type.kind) {
    case "message": {
      const message = type.message()
      if (spec?.mapType === "atomic" && message.rules.mapType !== "atomic" && isJsonObject(value)) found.push(path)
      return inMessage(message, value, path, found)
    }
    case "map":
      if (spec?.mapType === "atomic" && isJsonObject(value)) found.push(path)
      return
    case "list":
      if (!Array.isArray(value)) return
      if (spec?.listType !== "set" && spec?.listType !== "map") found.push(path)
      for (const [i, item] of value.entries()) inType(type.of, item, `${path}[${i}]`, found)
      return
    case "json":
      return inAnything(value, path, found)
    default:
  }
}

/** Does the same for a value that a custom resource's schema describes. */
function inSchema(schema: JsonSchema, value: unknown, path: string, found: string[]): void {
  if (schema.type === "object" && isJsonObject(value)) {
    if (schema["x-kubernetes-map-type"] === "atomic") found.push(path)
    if (schema.properties === undefined && membersOf(schema) !== undefined) return
    for (const [name, inner] of Object.entries(value)) {
      const property = schema.properties?.[name]
      if (property !== undefined) inSchema(property, inner, `${path}.${name}`, found)
    }
    return
  }
  if (schema.type === "array" && Array.isArray(value)) {
    const listType = schema["x-kubernetes-list-type"]
    const items = itemsOf(schema)
    if (listType !== "set" && listType !== "map") found.push(path)
    if (items !== undefined) for (const [i, item] of value.entries()) inSchema(items, item, `${path}[${i}]`, found)
    return
  }
  if (schema.type === undefined) inAnything(value, path, found)
}

/** Lists without a declaration are atomic. */
function inAnything(value: unknown, path: string, found: string[]): void {
  if (Array.isArray(value)) found.push(path)
}
