import { ExactNumber } from "../../apimachinery/json/exact-number.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"

/** The type of a JSON value, as a struct of Go declares it. */
export type Shape = TextShape | "bool" | "int64" | "any" | ListShape | MapShape | StructShape
/** A text, with the name of its type in Go. */
type TextShape = "string" | { readonly text: string }
export interface ListShape {
  readonly list: Shape
}
interface MapShape {
  readonly map: Shape
}
export interface StructShape {
  /** The name of the type in Go, with its package. */
  readonly struct: string
  readonly fields: Readonly<Record<string, Field>>
}
interface Field {
  readonly shape: Shape
  /** The names of the embedded structs that hold the field, with a point behind each. */
  readonly inside: string
}

/** Declares fields that are directly in a struct, or in embedded ones. */
export const fields = (shapes: Readonly<Record<string, Shape>>, inside = ""): Readonly<Record<string, Field>> =>
  Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, { shape, inside }]))

/** Puts the fields of a struct into another one. */
export const embedded = (name: string, { fields: all }: StructShape): Readonly<Record<string, Field>> =>
  Object.fromEntries(
    Object.entries(all).map(([field, { shape, inside }]) => [field, { shape, inside: `${name}.${inside}` }]),
  )

export interface DecodeOptions {
  /** Whether unknown fields are refused. */
  readonly strict?: boolean
  /** Whether numbers and booleans become text where text is expected, as sigs.k8s.io/yaml does. */
  readonly coerces?: boolean
}

/**
 * Returns a value in the shape of a struct: with the declared names of fields, whatever the case of theirs, and
 * without null. Source: Go's encoding/json.
 * @throws Error in Go's words for the first fault
 */
export function decode(value: unknown, shape: Shape, options: DecodeOptions = {}): unknown {
  const decoder = new Decoder(options)
  const decoded = decoder.decode(value, shape, { struct: "", path: [] })
  if (decoder.fault !== undefined) throw new Error(decoder.fault)
  return decoded
}

interface Context {
  /** The type of the struct that holds the value, without its package. */
  readonly struct: string
  readonly path: readonly string[]
}

class Decoder {
  readonly #options: DecodeOptions
  fault: string | undefined

  constructor(options: DecodeOptions) {
    this.#options = options
  }

  decode(value: unknown, shape: Shape, at: Context): unknown {
    if (value === null || value === undefined) return undefined
    if (shape === "any") return value
    if (shape === "string" || (typeof shape === "object" && "text" in shape)) return this.#text(value, shape, at)
    if (shape === "bool") return typeof value === "boolean" ? value : this.#mismatch(value, shape, at)
    if (shape === "int64") return Number.isInteger(value) ? value : this.#mismatch(value, shape, at)
    if ("list" in shape)
      return Array.isArray(value)
        ? value.map((item) => this.decode(item, shape.list, at) ?? zeroOf(shape.list))
        : this.#mismatch(value, shape, at)
    if (!isJsonObject(value)) return this.#mismatch(value, shape, at)
    return "map" in shape ? this.#map(value, shape, at) : this.#struct(value, shape, at)
  }

  #text(value: unknown, shape: TextShape, at: Context): unknown {
    if (typeof value === "string") return value
    const isScalar = typeof value === "boolean" || typeof value === "number" || value instanceof ExactNumber
    if (this.#options.coerces === true && isScalar) return value instanceof ExactNumber ? value.text : String(value)
    return this.#mismatch(value, shape, at)
  }

  #map(value: Readonly<Record<string, unknown>>, { map }: MapShape, at: Context): unknown {
    const entries = Object.entries(value).map(([key, member]) => [key, this.decode(member, map, at) ?? zeroOf(map)])
    return Object.fromEntries(entries)
  }

  #struct(value: Readonly<Record<string, unknown>>, { struct, fields: known }: StructShape, at: Context): unknown {
    const decoded: Record<string, unknown> = {}
    for (const [key, member] of Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const name = Object.hasOwn(known, key) ? key : nameLike(key, known)
      if (name === undefined) {
        if (this.#options.strict === true) this.fault ??= `json: unknown field ${JSON.stringify(key)}`
        continue
      }
      const { shape, inside } = known[name]!
      const path = [...at.path, ...inside.split(".").filter((part) => part !== ""), name]
      const result = this.decode(member, shape, { struct: struct.replace(/^.*\./, ""), path })
      if (result !== undefined) decoded[name] = result
    }
    return decoded
  }

  #mismatch(value: unknown, shape: Shape, { struct, path }: Context): undefined {
    const where = path.length === 0 ? "Go value" : `Go struct field ${struct}.${path.join(".")}`
    this.fault ??= `json: cannot unmarshal ${nameOf(value, shape)} into ${where} of type ${goName(shape)}`
    return undefined
  }
}

const nameLike = (key: string, known: Readonly<Record<string, Field>>): string | undefined =>
  Object.keys(known).find((name) => name.toLowerCase() === key.toLowerCase())

function nameOf(value: unknown, shape: Shape): string {
  if (Array.isArray(value)) return "array"
  if (typeof value === "number") return shape === "int64" ? `number ${value}` : "number"
  if (value instanceof ExactNumber) return shape === "int64" ? `number ${value.text}` : "number"
  return typeof value === "boolean" ? "bool" : typeof value
}

function goName(shape: Shape): string {
  if (typeof shape === "string") return shape === "any" ? "interface {}" : shape
  if ("text" in shape) return shape.text
  if ("list" in shape) return `[]${goName(shape.list)}`
  return "map" in shape ? `map[string]${goName(shape.map)}` : shape.struct
}

/** What null is in a list or a map. */
function zeroOf(shape: Shape): unknown {
  if (shape === "bool") return false
  if (shape === "int64") return 0
  if (shape === "any") return null
  if (shape === "string" || "text" in shape) return ""
  return "struct" in shape ? {} : undefined
}
