import type { FieldSpec, Message, Type } from "./fields.ts"

/**
 * A value as Kubernetes' messages show it: its internal types have no JSON names, so every field stands there under its
 * Go name, and what is missing as null or as a zero. Source: field.Error in apimachinery
 * pkg/util/validation/field/errors.go, which encodes the value with encoding/json.
 */
export function goForm(message: Message, value: object): object {
  const given = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(message.fields).map(([name, { spec }]) => [goName(name), formOf(spec.type, spec, given[name])]),
  )
}

function formOf(type: Type, { pointer }: Pick<FieldSpec, "pointer">, value: unknown): unknown {
  if (value === undefined || value === null) return pointer === true ? null : zeroOf(type)
  if (type.kind === "message") return goForm(type.message(), value as object)
  if (type.kind === "list") return (value as readonly unknown[]).map((item) => formOf(type.of, {}, item))
  if (type.kind === "map")
    return Object.fromEntries(
      Object.entries(value as object)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, item]) => [key, formOf(type.of, {}, item)]),
    )
  return value
}

function zeroOf({ kind }: Type): unknown {
  switch (kind) {
    case "string":
      return ""
    case "bool":
      return false
    case "int32":
    case "int64":
    case "double":
      return 0
    default:
      return null
  }
}

/** Words that Go writes in capitals, where they begin a name. */
const CAPITALS = /^(ip|uid|api|se|fs|gmsa|csi|url|cidr)(?=[A-Z]|s?$)/

const goName = (name: string): string =>
  name.replace(CAPITALS, (word) => word.toUpperCase()).replace(/^./, (first) => first.toUpperCase())
