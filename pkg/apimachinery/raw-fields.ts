import type { Message } from "./fields.ts"
import { isJsonObject } from "./json-value.ts"
import { memberTexts } from "./json-members.ts"
import { RawJson } from "./raw-json.ts"

const known = new WeakMap<Message, readonly string[]>()

/** The fields of a kind whose JSON is kept as it was written. They stand at the top of its objects. */
export function rawFieldsOf(schema: Message): readonly string[] {
  let names = known.get(schema)
  if (names === undefined) {
    names = Object.entries(schema.fields).flatMap(([name, { spec }]) =>
      spec.type.kind === "rawExtension" ? [name] : [],
    )
    known.set(schema, names)
  }
  return names
}

/** `value`, parsed from `json`, with the texts of its raw fields in their places. */
export function withRawFields(value: unknown, json: string, names: readonly string[]): unknown {
  if (names.length === 0 || !isJsonObject(value)) return value
  const raw: Record<string, RawJson> = {}
  for (const [name, text] of memberTexts(json, names)) if (text !== "null") raw[name] = RawJson.from(text)
  return { ...value, ...raw }
}
