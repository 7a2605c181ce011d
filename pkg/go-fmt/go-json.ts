import { ExactNumber } from "../apimachinery/json/exact-number.ts"
import { compareText, numberOf, TypedNumber } from "./go-number.ts"

/**
 * Returns a value as Go's encoding/json writes it, with an indent like json.MarshalIndent: `<` as `\u003c`, floats in
 * Go's form. The keys of objects are sorted, as Go sorts those of maps, or left as they are, as those of a struct: then
 * only an object with a number among its keys is a map.
 */
export function goJson(
  value: unknown,
  { indent = "", sorted = true }: { readonly indent?: string; readonly sorted?: boolean } = {},
): string {
  const copy = new Copy(sorted)
  const plain = copy.of(value)
  // JSON.stringify takes a third of the time of our own writer.
  return copy.isExact
    ? JSON.stringify(plain ?? null, undefined, indent).replaceAll(OF_GO, escaped)
    : new Writer(indent, sorted).text(value, "\n")
}

const OF_GO = /[<>&\u2028\u2029]/g
const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Copies a value for JSON.stringify, and finds out whether that writes it as Go would. */
class Copy {
  /** Whether JavaScript keeps the order of all keys. */
  isExact = true
  readonly #sorted: boolean

  constructor(sorted: boolean) {
    this.#sorted = sorted
  }

  of(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return Object.is(value, -0) ? this.#inexact() : value
    if (Array.isArray(value)) return value.map((item) => this.of(item))
    if (value instanceof ExactNumber || value instanceof TypedNumber) {
      const number = numberOf(value)!
      return number.type === "float64" ? this.of(number.value) : value
    }
    const record = value as Readonly<Record<string, unknown>>
    const keys = Object.keys(record)
    // JavaScript puts keys that are numbers first, by their value.
    if (keys.length > 1 && isIndex(keys[0])) return this.#inexact()
    if (Object.hasOwn(record, "__proto__")) return this.#inexact()
    if (this.#sorted) keys.sort()
    const copy: Record<string, unknown> = {}
    for (const key of keys) copy[key] = this.of(record[key])
    return copy
  }

  #inexact(): undefined {
    this.isExact = false
    return undefined
  }
}

const isIndex = (key: string | undefined): boolean => key !== undefined && /^(?:0|[1-9][0-9]*)$/.test(key)

class Writer {
  readonly #indent: string
  readonly #colon: string
  readonly #sorted: boolean

  constructor(indent: string, sorted: boolean) {
    this.#indent = indent
    this.#colon = indent === "" ? ":" : ": "
    this.#sorted = sorted
  }

  /** `lineStart` is the line break and the indentation of what the value is in. */
  text(value: unknown, lineStart: string): string {
    if (typeof value === "string") return stringText(value)
    if (typeof value === "boolean") return String(value)
    if (typeof value === "number") return Number.isSafeInteger(value) ? String(value) : floatText(value)
    if (value === null || value === undefined) return "null"
    if (Array.isArray(value)) return this.#list(value, lineStart)
    if (typeof value === "bigint" || value instanceof ExactNumber || value instanceof TypedNumber) return number(value)
    return this.#object(value as Readonly<Record<string, unknown>>, lineStart)
  }

  #list(items: readonly unknown[], lineStart: string): string {
    if (items.length === 0) return "[]"
    const inner = this.#indent === "" ? "" : lineStart + this.#indent
    let out = "["
    for (let i = 0; i < items.length; i++) out += (i === 0 ? inner : `,${inner}`) + this.text(items[i], inner)
    return `${out}${this.#indent === "" ? "" : lineStart}]`
  }

  #object(object: Readonly<Record<string, unknown>>, lineStart: string): string {
    const keys = Object.keys(object)
    // Where numbers are among the keys, it is a map, whose order JavaScript has not kept.
    if (this.#sorted || isIndex(keys[0])) sortKeys(keys)
    const inner = this.#indent === "" ? "" : lineStart + this.#indent
    let out = ""
    for (const key of keys) {
      const value = object[key]
      if (value !== undefined)
        out += (out === "" ? inner : `,${inner}`) + stringText(key) + this.#colon + this.text(value, inner)
    }
    return out === "" ? "{}" : `{${out}${this.#indent === "" ? "" : lineStart}}`
  }
}

/** Sorts keys, which mostly are in order already. */
function sortKeys(keys: string[]): void {
  for (let i = 1; i < keys.length; i++)
    if (compareText(keys[i - 1]!, keys[i]!) > 0) {
      keys.sort(compareText)
      return
    }
}

/** Go replaces bytes that are no characters. */
const stringText = (text: string): string => JSON.stringify(text.toWellFormed()).replaceAll(OF_GO, escaped)

/** Returns a float as encoding/json writes it, which is JavaScript's own form. */
const floatText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value))

function number(value: unknown): string {
  const known = numberOf(value)!
  return known.type === "float64" ? floatText(known.value) : String(known.value)
}
