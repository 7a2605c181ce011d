import { basicZeroOf } from "../decoding/decoder-zeros.ts"
import type { FieldSpec, Type, Message } from "../field-spec.ts"
import { ObjectMeta } from "../meta.ts"

/**
 * Returns a value in the form that upstream's error messages show: its internal types have no JSON names, so fields
 * have their Go names, and absent fields are shown as null or zero. Source: field.Error in apimachinery
 * pkg/util/validation/field/errors.go, which encodes the value with encoding/json.
 */
export function goForm(message: Message, value: object): object {
  const given = value as Readonly<Record<string, unknown>>
  if (message.name.startsWith(SHARED)) return plainForm(message, given)
  return Object.fromEntries(
    Object.entries(message.fields).flatMap(([name, { spec }]): (readonly [string, unknown])[] =>
      // Go embeds the metadata, whose type has JSON names.
      name === "metadata"
        ? Object.entries(plainForm(ObjectMeta, (given[name] ?? {}) as Values))
        : [[goName(name), formOf(spec.type, spec, given[name])]],
    ),
  )
}

type Values = Readonly<Record<string, unknown>>
/** Types in this package have no internal form. */
const SHARED = "io.k8s.apimachinery."

/** Returns a value of a type with JSON names, with its fields in the order of declaration. */
export function plainForm(message: Message, given: object): object {
  const values = given as Values
  return Object.fromEntries(
    Object.entries(message.fields).flatMap(([name, { spec }]) =>
      values[name] === undefined ? [] : [[name, plain(spec.type, values[name])]],
    ),
  )
}

/** Returns a value as Go's encoding/json writes it: fields in the order of declaration, map keys sorted. */
export function plain(type: Type, value: unknown): unknown {
  // A value of a wrong type is shown as it was sent.
  if (typeof value !== "object" || value === null) return value
  if (type.kind === "message") return plainForm(type.message(), value)
  if (type.kind === "list") return Array.isArray(value) ? value.map((item) => plain(type.of, item)) : value
  return type.kind === "map" ? mapped(value, (item) => plain(type.of, item)) : value
}

/** Returns a map with its keys in the order in which Go writes them. */
const mapped = (map: object, shown: (item: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(map)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, shown(item)]),
  )

function formOf(type: Type, { pointer }: Pick<FieldSpec, "pointer">, value: unknown): unknown {
  if (value === undefined || value === null) return pointer === true ? null : (basicZeroOf(type) ?? null)
  if (type.kind === "message") return goForm(type.message(), value as object)
  if (type.kind === "list") return (value as readonly unknown[]).map((item) => formOf(type.of, {}, item))
  if (type.kind === "map") return mapped(value as object, (item) => formOf(type.of, {}, item))
  return value
}

/** Abbreviations that Go writes in capitals at the beginning of a name. */
const CAPITALS = /^(ip|uid|api|se|fs|gmsa|csi|url|cidr|pd)(?=[A-Z]|s?$)/

const goName = (name: string): string =>
  name.replace(CAPITALS, (word) => word.toUpperCase()).replace(/^./, (first) => first.toUpperCase())
