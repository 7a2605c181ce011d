import { ExactNumber } from "../../apimachinery/json/exact-number.ts"
import { goFloat, goTypeOf, isGoMap, numberOf, TypedNumber } from "../../go-fmt/go-number.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { GoObject } from "../../go-fmt/go-object.ts"
import { sprint } from "../../go-fmt/sprintf.ts"
import { failCall } from "../../go-template/function-error.ts"
import { isTrue, type TemplateFunction } from "../../go-template/functions.ts"

/** A map of a template's values, which functions such as `set` change in place. */
export type Dict = Record<string, unknown>

/** Returns a function of templates that takes any number of values; null stands for nil. */
export const anyOf = (call: (...args: readonly unknown[]) => unknown): TemplateFunction => ({
  parameters: [],
  rest: "any",
  call: (args) => call(...args),
})

/** Runs what may throw an Error as the call of a function. @throws FunctionError */
export function attempt<T>(work: () => T): T {
  try {
    return work()
  } catch (err) {
    return failCall(errorMessage(err))
  }
}

const wrongType = (wanted: string, value: unknown): never =>
  failCall(`wrong type for value; expected ${wanted}; got ${value === undefined ? "nothing" : goTypeOf(value)}`)

export const text = (value: unknown): string => (typeof value === "string" ? value : wrongType("string", value))
export const list = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : wrongType("[]interface {}", value)
export const dict = (value: unknown): Dict =>
  isGoMap(value) ? (value as Dict) : wrongType("map[string]interface {}", value)
/** A number of any type, as a whole number. */
export function whole(value: unknown): number {
  const number = numberOf(value)
  return number === undefined || number.type === "complex128" ? wrongType("int", value) : Number(number.value)
}

/** Returns a value as text. Source of the rules: sprig strval. */
export const textFrom = (value: unknown): string => (typeof value === "string" ? value : sprint([value]))

/** Whether a value is nil, false, 0 or has no length. */
export const isEmptyValue = (value: unknown): boolean => !isTrue(value)

/** Returns any value as a number of 64 bits; 0 for what is none. Source of the rules: spf13/cast ToInt64. */
export function integer(value: unknown): bigint {
  if (value === true) return 1n
  if (typeof value === "string") {
    const plain = value.replace(/\.0*$/, "")
    const [, sign, octal] = /^([+-]?)0(?=[0-7])([0-7]+)$/.exec(plain) ?? []
    try {
      if (octal !== undefined) return BigInt(`0o${octal}`) * (sign === "-" ? -1n : 1n)
      return /^[+-]?\w+$/.test(plain)
        ? plain.startsWith("-")
          ? -BigInt(plain.slice(1))
          : BigInt(plain.replace("+", ""))
        : 0n
    } catch {
      return 0n
    }
  }
  const number = numberOf(value)
  if (number === undefined || number.type === "complex128") return 0n
  if (typeof number.value === "bigint") return number.value
  return Number.isFinite(number.value) ? BigInt(Math.trunc(number.value)) : 0n
}

/** Returns any value as a float; 0 for what is none. */
export function float(value: unknown): number {
  if (value === true) return 1
  if (typeof value === "string") return /^\s*$/.test(value) || Number.isNaN(Number(value)) ? 0 : Number(value)
  const number = numberOf(value)
  return number === undefined || number.type === "complex128" ? 0 : Number(number.value)
}

export const int64 = (value: bigint | number): TypedNumber => new TypedNumber({ type: "int64", value: BigInt(value) })

/** Returns the kind of a value as reflection names it. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "invalid"
  if (typeof value === "boolean") return "bool"
  if (Array.isArray(value)) return "slice"
  if (value instanceof GoObject) return value.entries === undefined ? "struct" : "map"
  return isGoMap(value) ? "map" : goTypeOf(value)
}

/** Returns a copy of a document whose numbers are floats, as Go reads those of YAML and JSON. */
export function goValues(value: unknown): unknown {
  if (typeof value === "number" || typeof value === "bigint") return goFloat(Number(value))
  if (value instanceof ExactNumber) return goFloat(Number(value.text))
  if (Array.isArray(value)) return value.map(goValues)
  if (!isGoMap(value)) return value ?? null
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, goValues(item)]))
}

/** Returns a copy of a template's value as plain JSON. */
export function plainValues(value: unknown): unknown {
  if (value instanceof TypedNumber) return Number(numberOf(value)!.value)
  if (value instanceof GoObject) return plainValues(value.entries ?? value.fields)
  if (Array.isArray(value)) return value.map(plainValues)
  if (!isGoMap(value)) return value ?? null
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainValues(item)]))
}

/** Returns a copy that shares nothing that can be changed. */
export function deepCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deepCopy)
  if (!isGoMap(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, deepCopy(item)]))
}

/** Whether two values are deeply equal, also in the types of their numbers. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  const [x, y] = [numberOf(a), numberOf(b)]
  if (x !== undefined || y !== undefined) return x?.type === y?.type && String(x?.value) === String(y?.value)
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => isDeepEqual(item, b[i]))
  if (!isGoMap(a) || !isGoMap(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isDeepEqual(a[key], b[key]))
  )
}
