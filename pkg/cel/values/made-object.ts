import { goText } from "../../apimachinery/go/go-text.ts"
import { GoValue } from "../../apimachinery/go/go-value.ts"
import { JsonList, JsonMap } from "./json-values.ts"
import { jsonOf } from "./to-json.ts"
import { CelError, Duration, ListValue, MapValue, StructValue, Timestamp, type Value } from "./values.ts"

/**
 * Returns an object that an expression built as an apply configuration. Lists and maps in its fields are converted if
 * the expression built them; below these, and for null, bytes and times, the result has Go values that no field
 * accepts. Returns undefined when a map has keys that are not strings. Source: apiserver pkg/cel/mutation/dynamic
 * objects.go convertField.
 */
export function configurationOf(made: StructValue): Readonly<Record<string, unknown>> | undefined {
  const config: Record<string, unknown> = {}
  for (const field of made.fieldNames()) {
    const value = fieldOf(made.get(field))
    if (value === undefined) return undefined
    config[field] = value
  }
  return config
}

function fieldOf(value: Value): unknown {
  if (isMadeList(value)) return Array.from(value, innerOf)
  if (!isMadeMap(value)) return innerOf(value)
  const keys = [...value.keys()]
  if (keys.some((key) => typeof key !== "string")) return undefined
  return Object.fromEntries(keys.map((key) => [key as string, innerOf(value.find(key)!)]))
}

function innerOf(value: Value): unknown {
  if (value instanceof StructValue && value.isMade)
    return configurationOf(value) ?? new GoValue("*types.Err", "map key is not string", "&types.Err{}")
  if (value === null) return new GoValue("structpb.NullValue", "NULL_VALUE", "0")
  if (value instanceof Uint8Array)
    return new GoValue(
      "[]uint8",
      `[${value.join(" ")}]`,
      `[]uint8{${Array.from(value, (byte) => `0x${byte.toString(16)}`).join(", ")}}`,
    )
  if (isMadeList(value)) return ofGo("[]ref.Val", value)
  if (isMadeMap(value)) return ofGo("map[ref.Val]ref.Val", value)
  if (value instanceof Timestamp) return ofGo("time.Time", value)
  if (value instanceof Duration) return ofGo("time.Duration", value)
  const json = jsonOf(value)
  return json instanceof CelError ? new GoValue("*types.Err", json.message, "&types.Err{}") : json
}

function ofGo(type: string, value: Value): GoValue {
  const text = goText(jsonOf(value))
  return new GoValue(type, text, `${type}{${text}}`)
}

const isMadeList = (value: Value): value is ListValue => value instanceof ListValue && !(value instanceof JsonList)
const isMadeMap = (value: Value): value is MapValue => value instanceof MapValue && !(value instanceof JsonMap)
