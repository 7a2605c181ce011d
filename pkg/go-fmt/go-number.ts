import { int64Of } from "../apimachinery/go/go-text.ts"
import { ExactNumber } from "../apimachinery/json/exact-number.ts"
import { GoObject } from "./go-object.ts"

/** A complex number: its real and its imaginary part. */
export type Complex = readonly [number, number]

/** A number with the type that it has in Go. */
export type GoNumber =
  | { readonly type: "int" | "int64" | "uint8"; readonly value: bigint }
  | { readonly type: "float64"; readonly value: number }
  | { readonly type: "complex128"; readonly value: Complex }

/**
 * A number that is no number of a JSON document: a constant of a template, a length, a byte of a text. Numbers of
 * documents need no wrapper: integers are int64, others float64.
 */
export class TypedNumber {
  readonly number: GoNumber
  constructor(number: GoNumber) {
    this.number = number
  }

  /** Returns the number for JSON.stringify. */
  toJSON(): unknown {
    const { value } = this.number
    return typeof value === "bigint" ? JSON.rawJSON(String(value)) : value
  }
}

export const goInt = (value: bigint | number): TypedNumber => new TypedNumber({ type: "int", value: BigInt(value) })
export const goFloat = (value: number): TypedNumber => new TypedNumber({ type: "float64", value })

/** Returns a number with its type in Go; undefined for a value that is no number. */
export function numberOf(value: unknown): GoNumber | undefined {
  if (typeof value === "number")
    return Number.isInteger(value) && !Object.is(value, -0)
      ? { type: "int64", value: BigInt(value) }
      : { type: "float64", value }
  if (value instanceof TypedNumber) return value.number
  if (typeof value === "bigint") return { type: "int64", value }
  return value instanceof ExactNumber ? exactOf(value.text) : undefined
}

/** An integer beyond 64 bits is a float. Source: apimachinery pkg/util/json. */
function exactOf(text: string): GoNumber {
  const value = int64Of(text)
  return value === undefined ? { type: "float64", value: Number(text) } : { type: "int64", value }
}

/** Returns the name of a value's type as Go's `%T` prints it. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) return "<nil>"
  if (typeof value === "string") return "string"
  if (typeof value === "boolean") return "bool"
  if (Array.isArray(value)) return "[]interface {}"
  if (value instanceof GoObject) return value.type
  return numberOf(value)?.type ?? "map[string]interface {}"
}

/** Whether a value is a map: neither a list nor a number that JavaScript holds as an object. */
export const isGoMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof GoObject) &&
  !(value instanceof TypedNumber) &&
  !(value instanceof ExactNumber)

/** Returns the entries of a map in the order of their keys' UTF-8 bytes, as Go prints and ranges over maps. */
export const sortedEntries = (map: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] =>
  Object.entries(map)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => compareText(a, b))

/** Compares texts by their code points, which is the order of their UTF-8 bytes. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    // Surrogates stand for code points beyond all others.
    if (x >= 0xd800 && y >= 0xd800) return rank(x) - rank(y)
    return x - y
  }
  return a.length - b.length
}

const rank = (code: number): number => (code >= 0xe000 ? code - 0x800 : code + 0x2000)
