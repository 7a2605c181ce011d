import type { ManagedFieldsEntry } from "./meta.ts"
import { memberTexts } from "./json-members.ts"
import { RawJson } from "./raw-json.ts"
import type { KubeObject } from "./resource.ts"

/** Field sets that many objects share, and their JSON. */
const known = new WeakMap<object, string>()

/** Keeps the JSON of a field set that many objects share, so that it is not made again with each of them. */
export function rememberFieldSet(set: object): void {
  if (!known.has(set)) known.set(set, JSON.stringify(set))
}

/**
 * The JSON of an object: exactly what JSON.stringify gives, but for raw JSON at its top, which is its own text. Field
 * sets are made apart and put in, for two reasons: the same ones come with every object of a template, and their keys
 * (`k:{"name":"web"}`) hold quotes, for which the runtime leaves its fast way of writing, with the whole object in
 * which one stands.
 */
export function objectJson(object: KubeObject): string {
  const text = jsonWithSets(object)
  for (const value of Object.values(object)) if (value instanceof RawJson) return withRawTexts(object, text)
  return text
}

/** JSON of an object whose raw JSON is set in its place. `text` has the other members. */
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
  // More marks than entries: the object has one of its own.
  return text.includes(MARK, from) ? JSON.stringify(object) : made + text.slice(from)
}
const hasSet = ({ fieldsV1 }: ManagedFieldsEntry): boolean => typeof fieldsV1 === "object" && fieldsV1 !== null
const NAME = '"fieldsV1":'
const MARK = `${NAME}0`
