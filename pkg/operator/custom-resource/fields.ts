import type { JsonSchema, ValidationRule } from "../../apimachinery/structural/json-schema.ts"

/**
 * Whether a member of an object must be sent, may be absent, or gets a default value from the server when it is absent.
 */
export type Presence = "required" | "optional" | "defaulted"

/**
 * A field of a custom resource, declared once: it gives the schema that the cluster checks, and the TypeScript types of
 * values that are read (`Out`) and sent (`In`). Every method returns a new field.
 */
export interface Field<Out, In = Out, P extends Presence = "required"> {
  readonly schema: JsonSchema
  readonly presence: P
  /** Allows the field to be absent. */
  optional(): Field<Out, In, "optional">
  /** Sets the value that the server fills in when the field is absent. */
  default(value: In): Field<Out, In, "defaulted">
  /** Allows the value to be null. */
  nullable(): Field<Out | null, In | null, P>
  /** Sets the description that `kubectl explain` shows. */
  describe(text: string): Field<Out, In, P>
  /** Adds a CEL rule that must be true; `self` is the value, `oldSelf` the value before an update. */
  rule(rule: string, more?: string | Omit<ValidationRule, "rule">): Field<Out, In, P>
  /** Never set: only the type checker uses it. */
  readonly "~out"?: Out
  readonly "~in"?: In
}

type AnyField = Field<unknown, never, Presence> | Field<unknown, unknown, Presence>
export type FieldsByName = Readonly<Record<string, AnyField>>

type OutOf<F> = F extends { readonly "~out"?: infer Out } ? Exclude<Out, undefined> : never
type InOf<F> = F extends { readonly "~in"?: infer In } ? Exclude<In, undefined> : never
type Named<F, P extends Presence> = {
  [K in keyof F]: F[K] extends { readonly presence: infer Q } ? (Q extends P ? K : never) : never
}[keyof F]
type Flat<T> = { readonly [K in keyof T]: T[K] }

/** The type of an object with these fields when it is read. */
export type Read<F extends FieldsByName> = Flat<
  { readonly [K in Named<F, "required" | "defaulted">]: OutOf<F[K]> } & {
    readonly [K in Named<F, "optional">]?: OutOf<F[K]>
  }
>
/** The type of an object with these fields when it is sent. */
export type Sent<F extends FieldsByName> = Flat<
  { readonly [K in Named<F, "required">]: InOf<F[K]> } & {
    readonly [K in Named<F, "optional" | "defaulted">]?: InOf<F[K]>
  }
>

function field<Out, In = Out, P extends Presence = "required">(schema: JsonSchema, presence: P): Field<Out, In, P> {
  return {
    schema,
    presence,
    optional: () => field(schema, "optional"),
    default: (value) => field({ ...schema, default: value }, "defaulted"),
    nullable: () => field({ ...schema, nullable: true }, presence),
    describe: (description) => field({ ...schema, description }, presence),
    rule: (rule, more = {}) => {
      const added = { rule, ...(typeof more === "string" ? { message: more } : more) }
      const rules = [...(schema["x-kubernetes-validations"] ?? []), added]
      return field({ ...schema, "x-kubernetes-validations": rules }, presence)
    },
  }
}

type Bounds<Names extends keyof JsonSchema> = Pick<JsonSchema, Names>

/** The types of fields of custom resources; see `defineCustomResource`. */
export const s = {
  string: (rules: Bounds<"minLength" | "maxLength" | "pattern" | "format"> = {}): Field<string> =>
    field({ type: "string", ...rules }, "required"),
  /** One of these texts. */
  oneOf: <const T extends string>(...values: readonly T[]): Field<T> =>
    field({ type: "string", enum: values }, "required"),
  integer: (
    rules: Bounds<
      "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "format" | "enum"
    > = {},
  ): Field<number> => field({ type: "integer", ...rules }, "required"),
  number: (rules: Bounds<"minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum"> = {}): Field<number> =>
    field({ type: "number", ...rules }, "required"),
  boolean: (): Field<boolean> => field({ type: "boolean" }, "required"),
  /** A time as RFC 3339. */
  time: (): Field<string> => field({ type: "string", format: "date-time" }, "required"),
  /** A number or a string, such as a port or a quantity. */
  intOrString: (): Field<number | string> => field({ "x-kubernetes-int-or-string": true }, "required"),
  /** Any value: no part of it is validated or removed. */
  any: (): Field<unknown> => field({ "x-kubernetes-preserve-unknown-fields": true }, "required"),
  object: <F extends FieldsByName>(
    fields: F,
    rules: Bounds<"maxProperties" | "oneOf" | "x-kubernetes-map-type"> = {},
  ): Field<Read<F>, Sent<F>> => {
    const required = Object.keys(fields).filter((name) => fields[name]!.presence === "required")
    const properties = Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]))
    return field({ type: "object", properties, ...(required.length === 0 ? {} : { required }), ...rules }, "required")
  },
  /** A map with keys that the client chooses. */
  map: <F extends AnyField>(
    value: F,
    rules: Bounds<"maxProperties"> = {},
  ): Field<Readonly<Record<string, OutOf<F>>>, Readonly<Record<string, InOf<F>>>> =>
    field({ type: "object", additionalProperties: value.schema, ...rules }, "required"),
  /**
   * A list. Server-side apply replaces it as a whole, unless it is a set, or `keys` names the members that identify its
   * items.
   */
  list: <F extends AnyField>(
    item: F,
    {
      set,
      keys,
      ...rules
    }: Bounds<"minItems" | "maxItems"> & {
      readonly set?: boolean
      readonly keys?: readonly (keyof OutOf<F> & string)[]
    } = {},
  ): Field<readonly OutOf<F>[], readonly InOf<F>[]> =>
    field(
      {
        type: "array",
        items: item.schema,
        "x-kubernetes-list-type": set === true ? "set" : keys === undefined ? "atomic" : "map",
        ...(keys === undefined ? {} : { "x-kubernetes-list-map-keys": keys }),
        ...rules,
      },
      "required",
    ),
}
