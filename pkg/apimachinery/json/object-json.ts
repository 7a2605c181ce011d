import type { ManagedFieldsEntry } from "../meta.ts"
import { memberTexts } from "./json-members.ts"
import { RawJson } from "./raw-json.ts"
import type { KubeObject } from "../resource.ts"

/** Field sets that many objects share, and their JSON. */
const known = new WeakMap<object, string>()

/** Caches the JSON of a field set that many objects share. */
export function rememberFieldSet(set: object): void {
  if (!known.has(set)) known.set(set, JSON.stringify(set))
}

/**
 * Returns the JSON of an object: the same as JSON.stringify, except that raw JSON in its top-level fields keeps its
 * text. Field sets are encoded separately and inserted, for two reasons: objects of one template have the same ones,
 * and the quotes in their keys (`k:{"name":"web"}`) would keep the runtime from using its fast encoder for the whole
 * object.
 */
export function objectJson(object: KubeObject): string {
  const text = jsonWithSets(object)
  for (const value of Object.values(object)) if (value instanceof RawJson) return withRawTexts(object, text)
  return text
}

/** Returns the JSON of an object with raw JSON in its place. `text` has the other members. */
function withRawTexts(object: KubeObject, text: string): string {
  const members = memberTexts(text, Object.keys(object))
  return `{${Object.entries(object)
    .flatMap(([name, value]: [string, unknown]) => {
      const member = value instanceof RawJson ? value.text : members.get(name)
      return member === undefined ? [] : [`${JSON.stringify(name)}:${member}`]
    })
    .join(",")}}`
}

function jsonWithSets(object: KubeObject): string {
  const { managedFields } = object.metadata
  if (managedFields === undefined || !managedFields.every(hasSet)) return JSON.stringify(object)
  const marked = {
    ...object,
    metadata: { ...object.metadata, managedFields: managedFields.map((entry) => ({ ...entry, fieldsV1: 0 })) },
  }
  const text = JSON.stringify(marked)
  let made = ""
  let from = 0
  for (const { fieldsV1 } of managedFields) {
    const at = text.indexOf(MARK, from) + NAME.length
    made += text.slice(from, at) + (known.get(fieldsV1 as object) ?? JSON.stringify(fieldsV1))
    from = at + 1
  }
  // There are more marks than entries, so the object itself contains the mark.
  return text.includes(MARK, from) ? JSON.stringify(object) : made + text.slice(from)
}
const hasSet = ({ fieldsV1 }: ManagedFieldsEntry): boolean => typeof fieldsV1 === "object" && fieldsV1 !== null
const NAME = '"fieldsV1":'
const MARK = `${NAME}0`
