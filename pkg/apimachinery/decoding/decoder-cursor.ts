import { ExactNumber } from "../json/exact-number.ts"
import type { Type } from "../field-spec.ts"
import type { Message } from "../fields.ts"

/** The decoder's place in the JSON, kept as plain arrays, so that a path costs nothing until an error needs it. */
export class Cursor {
  /** Field name or list index per depth. */
  readonly steps: (string | number)[] = []
  /** The struct that has the field named in `steps` at the same depth; undefined for steps into lists and maps. */
  readonly structs: (Message | undefined)[] = []
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
    let owner: Message | undefined
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
const shortName = (message: Message): string => message.name.slice(message.name.lastIndexOf(".") + 1)
/** The Go type of a message: `v1.PodSpec`. */
export const goTypeOf = (message: Message): string => message.name.split(".").slice(-2).join(".")

/** The Go type of a field, as error messages show it: `[]v1.Container`. */
export function goNameOf(type: Type): string {
  switch (type.kind) {
    case "message":
      return goTypeOf(type.message())
    case "list":
      return `[]${goNameOf(type.of)}`
    case "map":
      return `map[string]${goNameOf(type.of)}`
    case "double":
      return "float64"
    case "bytes":
      return "[]uint8"
    case "quantity":
      return "resource.Quantity"
    case "intOrString":
      return "intstr.IntOrString"
    case "time":
      return "v1.Time"
    case "microTime":
      return "v1.MicroTime"
    case "duration":
      return "v1.Duration"
    case "json":
    case "rawExtension":
      return "runtime.RawExtension"
    case "fieldsV1":
      return "v1.FieldsV1"
    default:
      return type.kind
  }
}

function jsonKind(value: unknown, goType: string): string {
  if (Array.isArray(value)) return "array"
  if (typeof value === "boolean") return "bool"
  // Go shows a number that does not fit only because of its size or fraction.
  if (value instanceof ExactNumber || typeof value === "number")
    return /^int|^float/.test(goType) ? `number ${value instanceof ExactNumber ? value.text : value}` : "number"
  return value === null ? "null" : typeof value
}
