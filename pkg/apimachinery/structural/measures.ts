import { ExactNumber } from "../json/exact-number.ts"
import type { JsonSchema } from "./json-schema.ts"

/** Returns the number of characters as Go counts them: code points. */
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

/** A number from here on does not fit an int64, so Go does not read it as an integer, however it was written. */
const INT64_END = 2 ** 63

/** Whether a number is an integer as Go reads it. */
export const isGoInteger = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) < INT64_END && (value as number) > -INT64_END

/** Whether a number is in the range of its type and format. Source: kube-openapi IsValueValidAgainstRange. */
export function isInRange({ type }: JsonSchema, format: string, value: number): boolean {
  if (type === "integer") return isGoInteger(value) && (format !== "int32" || (value >= -(2 ** 31) && value < 2 ** 31))
  if (type === "number" && format === "float") return Math.abs(value) <= 3.4028234663852886e38
  return true
}

/**
 * Returns a bound for comparison with a number: Go truncates the bound when the number is an integer. Source:
 * kube-openapi MaximumNativeType, MultipleOfNativeType.
 */
export const boundFor = (value: number | ExactNumber, bound: number): number =>
  value instanceof ExactNumber || Number.isInteger(value) ? Math.trunc(bound) : bound

/** Whether a number is a multiple of `factor`, which comes from `boundFor`. Source: kube-openapi MultipleOf. */
export function isMultiple(value: number | ExactNumber, factor: number): boolean {
  if (factor <= 0) return false
  if (value instanceof ExactNumber) return BigInt(value.text) % BigInt(factor) === 0n
  if (Number.isInteger(value)) return value % factor === 0
  const times = factor < 1 ? (1 / factor) * value : value / factor
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times))
}
