import { ExactNumber } from "../../apimachinery/json/exact-number.ts"
import { inByteOrder } from "./byte-order.ts"

/** Returns a value as Go's encoding/json writes it: sorted keys, and `<`, `>` and `&` escaped. */
export function goJson(value: unknown): string {
  if (typeof value === "string") return escaped(value)
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`
  if (typeof value === "object" && value !== null && !(value instanceof ExactNumber))
    return `{${Object.entries(value)
      .toSorted(([a], [b]) => inByteOrder(a, b))
      .map(([key, member]) => `${escaped(key)}:${goJson(member)}`)
      .join(",")}}`
  if (value instanceof ExactNumber) return value.text
  return JSON.stringify(value ?? null)
}

const escaped = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replace(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
