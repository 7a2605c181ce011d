import { ExactNumber } from "../../../pkg/apimachinery/exact-number.ts"

/**
 * What Go's decoder says of JSON that can have no apiVersion and kind. Source: apimachinery
 * pkg/runtime/serializer/json/meta.go.
 */
export const noTypeMeta = (value: unknown, goType = TYPE_META): string =>
  `json: cannot unmarshal ${jsonType(value)} into Go value of type ${goType}`

/** What it says of an object in which one of the two is no text; undefined when both can be read. */
export function wrongTypeMeta(object: Readonly<Record<string, unknown>>): string | undefined {
  for (const name of ["apiVersion", "kind"]) {
    const value = object[name]
    if (value !== undefined && value !== null && typeof value !== "string")
      return `json: cannot unmarshal ${jsonType(value)} into Go struct field .${name} of type string`
  }
  return undefined
}

const TYPE_META = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`

/** The type of a JSON value as Go's decoder calls it. */
export function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array"
  if (typeof value === "boolean") return "bool"
  return value instanceof ExactNumber ? "number" : typeof value
}
