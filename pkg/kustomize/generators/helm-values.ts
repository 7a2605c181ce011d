import { isJsonObject } from "../../apimachinery/json/json-value.ts"

/** Returns values of a chart with others that override them; null removes a value. */
export function mergedValues(values: unknown, others: unknown): unknown {
  if (!isJsonObject(values) || !isJsonObject(others)) return others
  const merged: Record<string, unknown> = { ...values }
  for (const [name, value] of Object.entries(others)) {
    if (value === null) delete merged[name]
    else merged[name] = Object.hasOwn(values, name) ? mergedValues(values[name], value) : value
  }
  return merged
}
