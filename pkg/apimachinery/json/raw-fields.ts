import type { Message } from "../field-spec.ts"
import { isJsonObject } from "./json-value.ts"
import { memberTexts } from "./json-members.ts"
import { RawJson } from "./raw-json.ts"

const known = new WeakMap<Message, readonly string[]>()

/** Returns the fields of a kind whose JSON is kept as it was written. Only top-level fields of an object can be. */
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

/** Returns `value`, which was parsed from `json`, with its raw fields replaced by their original text. */
export function withRawFields(value: unknown, json: string, names: readonly string[]): unknown {
  if (names.length === 0 || !isJsonObject(value)) return value
  const raw: Record<string, RawJson> = {}
  for (const [name, text] of memberTexts(json, names)) if (text !== "null") raw[name] = RawJson.from(text)
  return { ...value, ...raw }
}
