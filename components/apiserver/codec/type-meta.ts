import { ExactNumber } from "../../../pkg/apimachinery/json/exact-number.ts"

/** The error of Go's decoder for JSON that is no object. Source: apimachinery pkg/runtime/serializer/json/meta.go. */
export const noTypeMeta = (value: unknown, goType = TYPE_META): string =>
  `json: cannot unmarshal ${jsonType(value)} into Go value of type ${goType}`

/** The error for an object whose apiVersion or kind is no text; undefined when each is a text or missing. */
export function wrongTypeMeta(object: Readonly<Record<string, unknown>>): string | undefined {
  for (const name of ["apiVersion", "kind"]) {
    const value = object[name]
    if (value !== undefined && value !== null && typeof value !== "string")
      return `json: cannot unmarshal ${jsonType(value)} into Go struct field .${name} of type string`
  }
  return undefined
}

const TYPE_META = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`

/** Returns the name of a JSON type in Go's decoder. */
export function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array"
  if (typeof value === "boolean") return "bool"
  return value instanceof ExactNumber ? "number" : typeof value
}
