import type { Message } from "./fields.ts"
import type { Check } from "./validation/names.ts"

/**
 * The type of a value. JSON forms: quantity, time, microTime, duration and bytes (base64) are strings; intOrString is
 * either.
 */
export type Type =
  | { readonly kind: Scalar; readonly shownAs?: "rawExtension" }
  | { readonly kind: "message"; readonly message: () => Message }
  | { readonly kind: "list"; readonly of: Type }
  | { readonly kind: "map"; readonly of: Type }

export type Scalar =
  | "string"
  | "bool"
  | "int32"
  | "int64"
  | "double"
  | "bytes"
  | "quantity"
  | "intOrString"
  | "time"
  | "microTime"
  | "duration"
  /**
   * Any JSON value (apiextensions JSON, RawExtension, FieldsV1). `rawExtension` and `fieldsV1` differ from `json` only
   * on the protobuf wire.
   */
  | "json"
  | "rawExtension"
  | "fieldsV1"

export type ListType = "atomic" | "set" | "map"

/** Everything that a declaration says about one field. */
export interface FieldSpec {
  readonly number: number
  readonly doc: string
  readonly type: Type
  readonly presence: Presence
  /** The default in its JSON form; `{}` for a struct that is always present, whose own defaults then apply. */
  readonly default?: unknown
  /** OpenAPI shows the zero value as the default; objects leave it out, as in Go. */
  readonly zeroIsDefault?: true
  /** Detail of the error for a required field that is absent. */
  readonly requiredDetail?: string
  /** The kind's own rules check the field instead of its declaration; see `Field.ownRule`. */
  readonly ownRule?: boolean
  readonly enum?: readonly string[]
  /** The error for a value outside of `enum` lists the values as declared, instead of sorted. */
  readonly enumInOrder?: boolean
  readonly min?: number
  readonly max?: number
  readonly maxLength?: number
  readonly format?: string
  /** A check such as `isDNS1123Label`: returns what is wrong with a value, or undefined. */
  readonly check?: Check
  /** The list type of server-side apply. Lists without one are atomic. */
  readonly listType?: ListType
  readonly listMapKeys?: readonly string[]
  /** `granular` (the default) or `atomic`: how server-side apply treats a map or a struct. */
  readonly mapType?: "granular" | "atomic"
  /** Strategies of strategic merge patch: for instance ["merge"], ["retainKeys"], ["merge", "retainKeys"]. */
  readonly patchStrategy?: readonly ("merge" | "retainKeys" | "replace")[]
  readonly patchMergeKey?: string
  /** The field belongs to a feature gate that is off in Kubernetes by default: its values are dropped. */
  readonly disabled?: boolean
  /** An update that changes the field is refused. */
  readonly immutable?: boolean
  /** The field is shown even when it is zero, as Go fields without omitempty are, e.g. `containers`. */
  readonly printZero?: boolean
  /**
   * An absent value is shown as null, as Go shows a time held by value, or a list or pointer without omitempty. Decoded
   * objects hold the null, so that clients and managedFields see the same as upstream.
   */
  readonly orNull?: boolean
  /**
   * A Go pointer to a scalar, where `false`, 0 or "" differs from absent (`replicas`, `automountServiceAccountToken`).
   * In protobuf Go writes the zero of every field that is no pointer, so zeros of other fields are dropped there.
   */
  readonly pointer?: boolean
  /**
   * The protobuf number of the struct that Go embeds the field in, e.g. `handler` of a Probe: JSON shows the field
   * beside the others, protobuf writes it inside that struct, under `number`. Where that struct is embedded itself, the
   * number of the outer struct comes first.
   */
  readonly embeddedIn?: readonly number[]
}

export type Presence =
  /** May be absent. */
  | "optional"
  /** Must be present, otherwise FieldValueRequired. */
  | "required"
  /** May be absent in a request; decoding fills in the default. */
  | "defaulted"
