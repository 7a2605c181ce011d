import { ExactNumber } from "../exact-number.ts"
import type { JsonSchema } from "./json-schema.ts"

/** Characters as Go counts them: code points. */
export function lengthOf(text: string): number {
  let length = text.length
  for (let i = 0; i < text.length - 1; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0xd800 && code <= 0xdbff) {
      const next = text.charCodeAt(i + 1)
      if (next >= 0xdc00 && next <= 0xdfff) {
        length--
        i++
      }
    }
  }
  return length
}

/** Whether a number fits the format of its type. */
export function isInRange({ type }: JsonSchema, format: string, value: number): boolean {
  if (type === "integer" && format === "int32") return value >= -(2 ** 31) && value < 2 ** 31
  if (type === "number" && format === "float") return Math.abs(value) <= 3.4028234663852886e38
  return true
}

/** Source: kube-openapi pkg/validation/validate/values.go MultipleOf. */
export function isMultiple(value: number | ExactNumber, factor: number): boolean {
  if (value instanceof ExactNumber)
    return Number.isInteger(factor) && factor > 0 && BigInt(value.text) % BigInt(factor) === 0n
  if (factor <= 0) return false
  if (Number.isInteger(value) && Number.isInteger(factor)) return value % factor === 0
  const times = factor < 1 ? (1 / factor) * value : value / factor
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times))
}
