/**
 * Types of CEL expressions and values, with the sizes for cost estimates. Source: cel-go common/types/types.go,
 * apiserver pkg/cel/types.go (DeclType).
 */
export type CelKind =
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "null"
  | "dyn"
  | "timestamp"
  | "duration"
  | "list"
  | "map"
  /**
   * Has a name and fields: objects of a schema, and values of Kubernetes that upstream declares as objects
   * (quantities).
   */
  | "object"
  /** Has a name without fields: addresses, networks, optionals. */
  | "opaque"
  | "type"
  /** A type parameter of a function's declaration, or a type variable of the checker. */
  | "param"
  | "error"

export interface CelType {
  readonly kind: CelKind
  /** The name of the type as a value, such as `list` or `kubernetes.Quantity`. */
  readonly name: string
  /** The element type of a list; key and value type of a map; the type in an optional or in a type. */
  readonly params: readonly CelType[]
  /** The fields of an object by the names that expressions use; undefined when it declares none. */
  readonly fields?: ReadonlyMap<string, CelField>
  /**
   * The most characters of a string or bytes, or items of a list or map, that a value can have; 0 for types without a
   * size. Used for cost estimates.
   */
  readonly maxElements: number
  /** The fewest bytes of a value as JSON. */
  readonly minSerializedSize: number
  /** Whether a field may hold null. */
  readonly nullable?: boolean
  /** How Kubernetes compares and joins a list with `x-kubernetes-list-type`. */
  readonly listType?: ListSemantics
}

/** Lists of type set and map are equal whatever their order, and `+` joins them without duplicates. */
export type ListSemantics = { readonly kind: "set" } | { readonly kind: "map"; readonly keys: readonly string[] }

export interface CelField {
  readonly type: CelType
  /** The name of the property in JSON; its name in expressions is escaped. */
  readonly property: string
}

const simple = (kind: CelKind, name: string, minSerializedSize: number, maxElements = 0): CelType => ({
  kind,
  name,
  params: [],
  maxElements,
  minSerializedSize,
})

export const BOOL = simple("bool", "bool", 4)
export const INT = simple("int", "int", 1)
export const UINT = simple("uint", "uint", 1)
export const DOUBLE = simple("double", "double", 1)
export const STRING = simple("string", "string", 2)
export const BYTES = simple("bytes", "bytes", 2)
export const NULL = simple("null", "null_type", 4)
export const DYN = simple("dyn", "dyn", 1)
export const TIMESTAMP = simple("timestamp", "google.protobuf.Timestamp", 21)
export const DURATION = simple("duration", "google.protobuf.Duration", 3)
export const ERROR_TYPE = simple("error", "error", 0)
/** The type of types, without a parameter. */
export const TYPE = simple("type", "type", 0)

export const URL_TYPE = simple("object", "kubernetes.URL", 0)
export const QUANTITY = simple("object", "kubernetes.Quantity", 0)
export const SEMVER = simple("object", "kubernetes.Semver", 0)
export const FORMAT = simple("object", "kubernetes.NamedFormat", 0)
export const IP = simple("opaque", "net.IP", 0)
export const CIDR = simple("opaque", "net.CIDR", 0)
export const AUTHORIZER = simple("object", "kubernetes.authorization.Authorizer", 0)
export const PATH_CHECK = simple("object", "kubernetes.authorization.PathCheck", 0)
export const GROUP_CHECK = simple("object", "kubernetes.authorization.GroupCheck", 0)
export const RESOURCE_CHECK = simple("object", "kubernetes.authorization.ResourceCheck", 0)
export const DECISION = simple("object", "kubernetes.authorization.Decision", 0)

/** Returns the type of a list with at most `maxElements` items. */
export const listOf = (element: CelType, maxElements = 0, listType?: ListSemantics): CelType => ({
  kind: "list",
  name: "list",
  params: [element],
  maxElements,
  minSerializedSize: 2,
  ...(listType !== undefined && { listType }),
})

/** Returns the type of a map with at most `maxElements` entries. */
export const mapOf = (key: CelType, value: CelType, maxElements = 0): CelType => ({
  kind: "map",
  name: "map",
  params: [key, value],
  maxElements,
  minSerializedSize: 2,
})

export const optionalOf = (value: CelType): CelType => ({
  kind: "opaque",
  name: "optional_type",
  params: [value],
  maxElements: 0,
  minSerializedSize: 0,
})

/** Returns the type of a type's name, such as `int` in `type(x) == int`. */
export const typeOf = (of: CelType): CelType => ({ ...TYPE, params: [of] })

/** Returns a type parameter of a function's declaration, such as A in `list(A)`. */
export const paramOf = (name: string): CelType => simple("param", name, 0)

/**
 * Returns the type of an object with fields. `name` appears in messages; two objects with the same name have the same
 * type.
 */
export const objectOf = (
  name: string,
  fields: Readonly<Record<string, CelType>> | ReadonlyMap<string, CelField>,
  minSerializedSize = 2,
): CelType => ({
  kind: "object",
  name,
  params: [],
  fields:
    fields instanceof Map
      ? (fields as ReadonlyMap<string, CelField>)
      : new Map(Object.entries(fields).map(([property, type]) => [property, { type: type as CelType, property }])),
  maxElements: 0,
  minSerializedSize,
})

export const isOptional = (type: CelType): boolean => type.kind === "opaque" && type.name === "optional_type"

/** Whether two types are the same: equal kinds and names throughout. */
export function sameType(a: CelType, b: CelType): boolean {
  if (a === b) return true
  if (a.kind !== b.kind || a.name !== b.name || a.params.length !== b.params.length) return false
  return a.params.every((param, i) => sameType(param, b.params[i]!))
}

/** Formats a type for messages: `map(string, list(int))`. Source: cel-go checker/format.go FormatCELType. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case "duration":
    case "timestamp":
    case "null":
      return type.kind
    case "error":
      return "!error!"
    default:
      return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(formatType).join(", ")})`
  }
}
