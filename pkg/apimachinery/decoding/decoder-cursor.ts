import { ExactNumber } from "../json/exact-number.ts"

/** A message, whose name errors show. */
interface Struct {
  readonly name: string
}

/** The decoder's place in the JSON, kept as plain arrays, so that a path costs nothing until an error needs it. */
export class Cursor {
  /** Field name or list index per depth. */
  readonly steps: (string | number)[] = []
  /** The struct that has the field named in `steps` at the same depth; undefined for steps into lists and maps. */
  readonly structs: (Struct | undefined)[] = []
  /** Paths of the fields that no message declares. */
  readonly unknown: string[] = []
  /** See `DecodeOptions.keepsNulls`. */
  readonly keepsNulls: boolean
  constructor(keepsNulls = false) {
    this.keepsNulls = keepsNulls
  }

  /** `spec.containers[0].name` */
  path(depth: number): string {
    let path = ""
    for (let i = 0; i <= depth; i++) {
      const step = this.steps[i]!
      path += typeof step === "number" ? `[${step}]` : path === "" ? step : `.${step}`
    }
    return path
  }

  /**
   * The error of Go's decoder for a value of the wrong type. It names the innermost struct and then the path without
   * indices. Source: encoding/json UnmarshalTypeError.
   */
  mismatch(value: unknown, goType: string, depth: number): DecodeError {
    let owner: Struct | undefined
    const names: string[] = []
    for (let i = 0; i <= depth; i++) {
      const struct = this.structs[i]
      if (struct === undefined) continue
      owner = struct
      names.push(String(this.steps[i]))
    }
    const where = owner === undefined ? "Go value" : `Go struct field ${shortName(owner)}.${names.join(".")}`
    return new DecodeError(`json: cannot unmarshal ${jsonKind(value, goType)} into ${where} of type ${goType}`)
  }
}

/** The JSON does not fit the message. The text is that of Go's decoder. */
export class DecodeError extends Error {
  override readonly name = "DecodeError"
}

/** The last part of a message's OpenAPI name, which is the name of the Go type. */
const shortName = (message: Struct): string => message.name.slice(message.name.lastIndexOf(".") + 1)

function jsonKind(value: unknown, goType: string): string {
  if (Array.isArray(value)) return "array"
  if (typeof value === "boolean") return "bool"
  // Go shows a number that does not fit only because of its size or fraction.
  if (value instanceof ExactNumber || typeof value === "number")
    return /^u?int|^float/.test(goType) ? `number ${value instanceof ExactNumber ? value.text : value}` : "number"
  return value === null ? "null" : typeof value
}

/**
 * Turns plain JSON into the value of a message: drops nulls, checks types, drops and lists unknown fields, and fills in
 * defaults. Each message is compiled once, at its first use, into closures over its fields.
 *
 * Invariant: a value that needs no change is returned as the same reference, down to each nested value, so an object
 * that was decoded before costs a walk and no copy. The input is never changed. `old` is a decoded value of the same
 * type that the input was made from; where the input holds the very same value at the same place, the value is
 * canonical already and is not decoded again.
 */
export type Decode = (value: unknown, cursor: Cursor, depth: number, old?: unknown) => unknown
