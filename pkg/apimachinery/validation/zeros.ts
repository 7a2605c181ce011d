import { decodeMessage } from "../decoding/decode.ts"
import type { FieldSpec, Type, Message } from "../field-spec.ts"

/**
 * Returns a copy of a value in which missing required fields have Go's zero values, so that rules that rely on the type
 * can check the rest of it. Only for values that are refused anyway.
 */
export function withZeros(message: Message, value: object): object {
  const copy: Record<string, unknown> = { ...value }
  for (const [name, { spec }] of Object.entries(message.fields)) {
    const given = copy[name] ?? (spec.presence === "required" ? zeroOf(spec) : undefined)
    if (given !== undefined) copy[name] = inside(spec.type, given)
  }
  return copy
}

function inside(type: Type, value: unknown): unknown {
  switch (type.kind) {
    case "message":
      return withZeros(type.message(), value as object)
    case "list":
      return (value as readonly unknown[]).map((item) => inside(type.of, item))
    case "map":
      return Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, inside(type.of, item)]))
    default:
      return value
  }
}

function zeroOf({ type }: FieldSpec): unknown {
  switch (type.kind) {
    case "message":
      return decodeMessage(type.message(), {}).object
    case "list":
      return []
    case "map":
      return {}
    case "bool":
      return false
    case "int32":
    case "int64":
    case "double":
    case "intOrString":
      return 0
    case "quantity":
      return "0"
    case "time":
    case "microTime":
      return "0001-01-01T00:00:00Z"
    case "json":
    case "rawExtension":
    case "fieldsV1":
      return {}
    default:
      return ""
  }
}
