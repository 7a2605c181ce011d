import { deepEqualWithNulls } from "../json/equal.ts"
import type { JsonSchema } from "./json-schema.ts"
import { tries } from "./work.ts"

const checks = new WeakMap<JsonSchema, (value: unknown) => boolean>()
const shown = new WeakMap<JsonSchema, readonly string[]>()

/** Returns whether a value is in the enum of a schema. Texts and numbers are found by an index. */
export function enumCheckOf(schema: JsonSchema): (value: unknown) => boolean {
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, (check = enumCheck(schema.enum ?? [])))
  return check
}

function enumCheck(allowed: readonly unknown[]): (value: unknown) => boolean {
  const plain = new Set(allowed.filter((each) => typeof each !== "object"))
  const others = allowed.filter((each) => typeof each === "object" && each !== null)
  return (value) => {
    if (plain.has(value)) return true
    // An object equals an object only; a number that is no float is one too.
    if (others.length === 0 || typeof value !== "object") return false
    tries(others.length)
    return others.some((each) => deepEqualWithNulls(each, value))
  }
}

/** Returns the values of the enum of a schema as messages show them. */
export function shownEnum(schema: JsonSchema): readonly string[] {
  let texts = shown.get(schema)
  if (texts === undefined) {
    texts = (schema.enum ?? []).map((each) => (typeof each === "string" ? each : JSON.stringify(each)))
    shown.set(schema, texts)
  }
  return texts
}
