/**
 * What decoding does about absent fields and zero values: it fills in defaults and the zeros that Go prints, and drops
 * the zeros that Go does not store.
 */
import type { FieldSpec, Scalar, Type } from "../field-spec.ts"

/** A value that decoding sets in an absent field. */
export interface Fill {
  readonly name: string
  /** A sent value that counts as absent, as undefined does: the zero of a field that Go holds by value. */
  readonly empty: unknown
  value(): unknown
}

/**
 * The value to set in a field that was not sent: its default, decoded once and shared, or zero where Go always prints
 * the field or holds a required number or struct by value. Empty when the field stays absent. A required text stays
 * absent so that validation reports it, unless declarations do not check it (`isUnchecked`).
 */
export function fillOf(
  name: string,
  { presence, type, pointer, printZero, orNull, default: fallback }: FieldSpec,
  isUnchecked: boolean,
  decode: (type: Type, json: unknown) => unknown,
): Fill[] {
  if (orNull === true) return [{ name, empty: undefined, value: () => null }]
  const heldByValue = presence === "required" && pointer !== true
  if ((presence === "defaulted" && fallback !== undefined) || (heldByValue && type.kind === "message")) {
    let made: unknown
    return [{ name, empty: emptyOf(type, pointer, fallback), value: () => (made ??= decode(type, fallback ?? {})) }]
  }
  const zero =
    printZero === true || (heldByValue && (type.kind !== "string" || isUnchecked))
      ? ZERO[type.kind as Scalar]
      : undefined
  return zero === undefined ? [] : [{ name, empty: undefined, value: () => zero }]
}

function emptyOf(type: Type, pointer: boolean | undefined, fallback: unknown): unknown {
  if (pointer === true || isNoItems(fallback)) return undefined
  return type.kind === "list" ? NO_ITEMS : ZERO[type.kind as Scalar]
}

/** Stands for every empty list: Go does not distinguish an empty list from an absent one. */
export const NO_ITEMS: unique symbol = Symbol("no items")
export const isNoItems = (value: unknown): boolean => Array.isArray(value) && value.length === 0

const BASIC_ZERO: Partial<Record<Type["kind"], unknown>> = { string: "", bool: false, int32: 0, int64: 0, double: 0 }
const ZERO: Partial<Record<Scalar, unknown>> = { ...BASIC_ZERO, intOrString: 0 }

/** Returns the zero of a type that is a string, a boolean or a number in Go; undefined for all others. */
export const basicZeroOf = ({ kind }: Type): unknown => BASIC_ZERO[kind]

/**
 * Returns the test for values that decoding drops; undefined for a field of which every value is kept. Go holds an
 * optional field that is no pointer by value, so it cannot tell a sent zero from an absent field: it stores
 * `hostNetwork: false` and `env: []` as nothing at all. We drop them too, because otherwise an update by a Go client
 * would seem to remove what another client had sent. Source: `omitempty` of encoding/json.
 */
export function droppedZero({
  presence,
  type,
  pointer,
  printZero,
  disabled,
  orNull,
}: FieldSpec): ((value: unknown) => boolean) | undefined {
  if (disabled === true) return always
  if (type.kind === "list" && orNull === true) return isNoItems
  if (presence !== "optional" || pointer === true || printZero === true) return undefined
  switch (type.kind) {
    case "list":
      return isNoItems
    case "map":
      return isEmptyMap
    case "string":
    case "bytes":
      return (value) => value === ""
    case "bool":
      return (value) => value === false
    case "int32":
    case "int64":
    case "double":
      return (value) => value === 0
    default:
      return undefined
  }
}

const always = (): boolean => true

function isEmptyMap(value: unknown): boolean {
  for (const _ in value as object) return false
  return true
}

/** The zero value that Go makes of a null inside a list or a map; null where JSON shows the zero so. */
export function zeroOf(type: Type): unknown {
  switch (type.kind) {
    case "message":
    case "map":
      return {}
    case "list":
      return []
    case "quantity":
      return "0"
    case "time":
    case "microTime":
    case "json":
    case "rawExtension":
    case "fieldsV1":
      return null
    default:
      return ZERO[type.kind] ?? ""
  }
}
