import type { Decode } from "./decoding/decoder-cursor.ts"
import type { JsonSchema } from "./structural/json-schema.ts"

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
  /** Whether OpenAPI shows the zero value as the default, while objects leave it out, as in Go. */
  readonly zeroIsDefault?: true
  /** The end of the error message for a required field that is absent. */
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
  /** Whether an update that changes the field is refused. */
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

/**
 * A struct: its fields, and its name in OpenAPI (`io.k8s.api.` is prepended to a name that does not start with `io.`).
 */
export interface Message<F extends Fields = Fields> {
  readonly name: string
  readonly doc: string
  readonly fields: F
  /** Rules and defaults that concern several fields. */
  readonly rules: MessageRules
}

export interface MessageRules {
  /**
   * Sets defaults that depend on other fields; gets the decoded value with simple defaults in place and returns it, or
   * a changed copy. `old` is the decoded value that this one was made from, if there is one: what both share has its
   * defaults already.
   */
  readonly defaults?: (value: never, old?: never) => object
  /** `atomic` structs are owned as a whole by server-side apply (for instance LabelSelector, ObjectReference). */
  readonly mapType?: "atomic"
  /** Fields that the message does not declare are kept, not reported. */
  readonly preserveUnknownFields?: boolean
  /**
   * The schema of a custom resource, which describes the fields beside the declared ones. Custom objects are held as
   * they were sent and not as Go structs (null, zeros and empty lists are values, a wrong type is a fault of the
   * object), so code of their own walks them, under `structural/`.
   */
  readonly structural?: { readonly schema: JsonSchema; readonly decode: Decode }
  /** The fields by which clients can select objects of this kind, such as `spec.color`; shown in OpenAPI. */
  readonly selectableFields?: readonly string[]
  /**
   * For a Go type that decodes its own JSON (JSONSchemaPropsOrBool): `takes` says which values other than objects are
   * valid. Unknown fields are dropped without a fault, and OpenAPI shows no fields. In protobuf an object is in the
   * field `number` of the message; true or false, where valid, in field 1; a list, where valid, in field 2, as messages
   * of the same type or as texts.
   */
  readonly ownJson?: { takes(value: unknown): boolean; readonly number: 1 | 2; readonly items?: "self" | "text" }
  /**
   * Nothing in the message is checked against its declarations, because upstream does not validate it: true of most
   * status structs.
   */
  readonly unchecked?: boolean
  /** Fields that exclude each other, in upstream's order: only the first one that is set is checked. */
  readonly firstOf?: readonly string[]
  /** Exactly-one unions, shown in OpenAPI as x-kubernetes-unions. */
  readonly unions?: readonly { readonly discriminator?: string; readonly fields: readonly string[] }[]
}

export type Fields = Readonly<Record<string, AnyField>>
/** A declared field of any type; `Field` in fields.ts is its only implementation. */
export interface AnyField {
  readonly "~out": unknown
  readonly "~in": unknown
  readonly "~presence": Presence
  readonly spec: FieldSpec
}
