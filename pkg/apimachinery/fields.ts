import type { Check } from "./validation/names.ts"
import type { Type, Scalar, FieldSpec, Presence, Message, MessageRules, Fields } from "./field-spec.ts"
import type { RawJson } from "./json/raw-json.ts"

/**
 * Declares the fields of a kind, once for every part of the program that needs them.
 *
 *     export const ContainerPort = message("core.v1.ContainerPort", "A port on which a container listens.", {
 *       name: f.string(1, "Name by which Services refer to the port; unique in the pod."),
 *       containerPort: f.int32(3, "Number of the port inside the pod.").required().min(1).max(65535),
 *       protocol: f.string(4, "Transport protocol.").enum("TCP", "UDP", "SCTP").default("TCP"),
 *     })
 *     export interface ContainerPort extends ObjectOf<typeof ContainerPort> {}
 *
 * The first argument of each field is its protobuf number. A field is optional unless `.required()`, `.default(…)` or
 * `.always()` says otherwise. Decoding, defaulting, validation, unknown-field detection, OpenAPI, protobuf, strategic
 * merge and server-side apply all walk these declarations. A custom resource is a `Message` whose rules hold its schema
 * (`MessageRules.structural`), and each of these walks continues in the schema.
 *
 * Why not zod objects: a Kubernetes field carries more than a shape (number, merge key, list type, patch strategy),
 * `null` means absent, a wrong type is another error than a missing field, unknown fields are kept apart, and the
 * runtime form has to be the one that CRDs produce.
 */

/**
 * One declared field. `Out` is its decoded type, `In` the type that a client may send. Every method returns a changed
 * copy.
 */
export class Field<Out, In, P extends Presence> {
  declare readonly "~out": Out
  declare readonly "~in": In
  declare readonly "~presence": P
  readonly spec: FieldSpec
  constructor(spec: FieldSpec) {
    this.spec = spec
  }
  private with<O = Out, I = In, Q extends Presence = P>(more: Partial<FieldSpec>): Field<O, I, Q> {
    return new Field<O, I, Q>({ ...this.spec, ...more })
  }
  /**
   * `detail` ends the error message for an absent field. A field that Go holds by value (a struct, a number) is never
   * absent but zero: then its contents or its value are faulty.
   */
  required(detail?: string): Field<Out, In, "required"> {
    return this.with({ presence: "required", ...(detail === undefined ? {} : { requiredDetail: detail }) })
  }
  /**
   * The kind's own rules check the field and everything in it, and whether it may be absent, because upstream words
   * that differently or does not check it. A required text that is absent is then the empty text, as in Go.
   */
  ownRule(): Field<Out, In, P> {
    return this.with({ ownRule: true })
  }
  default(value: In): Field<Out, In, "defaulted"> {
    return this.with({ presence: "defaulted", default: value })
  }
  /** The default is Go's zero value, which objects leave out; OpenAPI shows it. */
  zeroDefault(): Field<Out, In, P> {
    return this.with({ zeroIsDefault: true })
  }
  /** For a struct that Go holds by value: it is always present, with its inner defaults. */
  always(): Field<Out, In, "defaulted"> {
    return this.with({ presence: "defaulted", default: {} })
  }
  enum<const V extends string>(
    ...values: V[]
  ): Field<Out extends readonly string[] ? readonly V[] : V, In extends readonly string[] ? readonly V[] : V, P> {
    return this.with({ enum: values })
  }
  /** The error for a value outside of an enum lists the values in the order of their declaration. */
  inOrder(): Field<Out, In, P> {
    return this.with({ enumInOrder: true })
  }
  min(min: number): Field<Out, In, P> {
    return this.with({ min })
  }
  max(max: number): Field<Out, In, P> {
    return this.with({ max })
  }
  maxLength(maxLength: number): Field<Out, In, P> {
    return this.with({ maxLength })
  }
  check(check: Check): Field<Out, In, P> {
    return this.with({ check })
  }
  /** Server-side apply merges the list's items by these keys. */
  listMap(...keys: string[]): Field<Out, In, P> {
    return this.with({ listType: "map", listMapKeys: keys })
  }
  listSet(): Field<Out, In, P> {
    return this.with({ listType: "set" })
  }
  atomic(): Field<Out, In, P> {
    // Go holds bytes as a list.
    const { kind } = this.spec.type
    return this.with(kind === "list" || kind === "bytes" ? { listType: "atomic" } : { mapType: "atomic" })
  }
  /** Server-side apply merges the struct field by field, though its type is atomic elsewhere. */
  granular(): Field<Out, In, P> {
    return this.with({ mapType: "granular" })
  }
  /** Strategic merge patch merges the list; by `key` when its items are objects. */
  merge(key?: string): Field<Out, In, P> {
    return this.with({
      patchStrategy: [...(this.spec.patchStrategy ?? []), "merge"],
      ...(key === undefined ? {} : { patchMergeKey: key }),
    })
  }
  retainKeys(): Field<Out, In, P> {
    return this.with({ patchStrategy: [...(this.spec.patchStrategy ?? []), "retainKeys"] })
  }
  replace(): Field<Out, In, P> {
    return this.with({ patchStrategy: ["replace"] })
  }
  /**
   * The field belongs to a feature gate that is off in Kubernetes 1.36 and not implemented here: its values are
   * dropped.
   */
  disabled(): Field<Out, In, P> {
    return this.with({ disabled: true })
  }
  immutable(): Field<Out, In, P> {
    return this.with({ immutable: true })
  }
  printZero(): Field<Out, In, P extends "optional" ? "defaulted" : P> {
    return this.with({ printZero: true })
  }
  orNull(): Field<Out | null, In | null, P> {
    return this.with({ orNull: true })
  }
  pointer(): Field<Out, In, P> {
    return this.with({ pointer: true })
  }
  embeddedIn(...numbers: [number, ...number[]]): Field<Out, In, P> {
    return this.with({ embeddedIn: numbers })
  }
}

type Flatten<T> = { [K in keyof T]: T[K] }
type OptionalOut<F extends Fields> = { [K in keyof F]: F[K]["~presence"] extends "optional" ? K : never }[keyof F]
type RequiredIn<F extends Fields> = { [K in keyof F]: F[K]["~presence"] extends "required" ? K : never }[keyof F]

/** The decoded value of a set of fields, including defaults. Deeply readonly: objects are never changed in place. */
export type Output<F extends Fields> = Flatten<
  { readonly [K in Exclude<keyof F, OptionalOut<F>>]: F[K]["~out"] } & {
    readonly [K in OptionalOut<F>]?: F[K]["~out"] | undefined
  }
>
/** The value that a client may send for a set of fields: only required fields must be present. */
export type Input<F extends Fields> = Flatten<
  { readonly [K in RequiredIn<F>]: F[K]["~in"] } & {
    readonly [K in Exclude<keyof F, RequiredIn<F>>]?: F[K]["~in"] | undefined
  }
>

export type ObjectOf<M extends { readonly fields: Fields }> = Output<M["fields"]>
export type InputOf<M extends { readonly fields: Fields }> = Input<M["fields"]>

export function message<F extends Fields>(name: string, doc: string, fields: F, rules: MessageRules = {}): Message<F> {
  return { name: name.startsWith("io.") ? name : `io.k8s.api.${name}`, doc, fields, rules }
}

const scalar =
  <T>(kind: Scalar) =>
  (number: number, doc: string) =>
    new Field<T, T, "optional">({ number, doc, type: { kind }, presence: "optional" })

/** The type of the items of a list or a map. */
export interface Element<Out, In> {
  readonly type: Type
  readonly "~out"?: Out
  readonly "~in"?: In
}
const element = <T>(kind: Scalar): Element<T, T> => ({ type: { kind } })

/** Item types of lists and maps of scalars; `of(M)` for messages, `listOf(E)` for lists of lists or maps of lists. */
export const e = {
  string: element<string>("string"),
  bool: element<boolean>("bool"),
  int32: element<number>("int32"),
  int64: element<number>("int64"),
  bytes: element<string>("bytes"),
  quantity: element<string>("quantity"),
  /** Null is the zero of a time, which Go holds by value. */
  time: element<string | null>("time"),
  json: element<unknown>("json"),
  of: <M extends Message>(message: M | (() => M)): Element<ObjectOf<M>, InputOf<M>> => ({
    type: { kind: "message", message: typeof message === "function" ? message : () => message },
  }),
  listOf: <O, I>(of: Element<O, I>): Element<readonly O[], readonly I[]> => ({ type: { kind: "list", of: of.type } }),
}

const typeOf = (ref: Message | (() => Message) | Element<unknown, unknown>): Type =>
  typeof ref === "function"
    ? { kind: "message", message: ref }
    : "type" in ref
      ? ref.type
      : { kind: "message", message: () => ref }

type OutOf<R> = R extends { readonly fields: infer F extends Fields }
  ? Output<F>
  : R extends Element<infer O, unknown>
    ? O
    : never
type InOf<R> = R extends { readonly fields: infer F extends Fields }
  ? Input<F>
  : R extends Element<unknown, infer I>
    ? I
    : never

export const f = {
  string: scalar<string>("string"),
  bool: scalar<boolean>("bool"),
  int32: scalar<number>("int32"),
  int64: scalar<number>("int64"),
  double: scalar<number>("double"),
  /** base64 in JSON. */
  bytes: scalar<string>("bytes"),
  quantity: scalar<string>("quantity"),
  intOrString: scalar<number | string>("intOrString"),
  time: scalar<string>("time"),
  microTime: scalar<string>("microTime"),
  duration: scalar<string>("duration"),
  json: scalar<unknown>("json"),
  /**
   * JSON whose text is kept as it was sent. Only for top-level fields of an object: `objectJson` and the decoding of
   * bodies look for it there.
   */
  rawExtension: (number: number, doc: string): Field<RawJson, unknown, "optional"> =>
    new Field({ number, doc, type: { kind: "rawExtension" }, presence: "optional" }),
  /** A RawExtension inside of other structs: its value is kept, but not its text. */
  extension: (number: number, doc: string): Field<unknown, unknown, "optional"> =>
    new Field({ number, doc, type: { kind: "json", shownAs: "rawExtension" }, presence: "optional" }),
  fieldsV1: scalar<unknown>("fieldsV1"),
  message: <M extends Message>(number: number, message: M, doc: string): Field<ObjectOf<M>, InputOf<M>, "optional"> =>
    new Field({ number, doc, type: typeOf(message), presence: "optional" }),
  /**
   * A message that is declared later or contains itself; its types are written by hand: `f.recursive<Out, In>(1, () =>
   * M, "…")`.
   */
  recursive: <O, I = O>(number: number, message: () => Message, doc: string): Field<O, I, "optional"> =>
    new Field({ number, doc, type: typeOf(message), presence: "optional" }),
  list: <R extends Message | Element<unknown, unknown>>(
    number: number,
    of: R,
    doc: string,
  ): Field<readonly OutOf<R>[], readonly InOf<R>[], "optional"> =>
    new Field({ number, doc, type: { kind: "list", of: typeOf(of) }, presence: "optional" }),
  map: <R extends Message | Element<unknown, unknown>>(
    number: number,
    of: R,
    doc: string,
  ): Field<Readonly<Record<string, OutOf<R>>>, Readonly<Record<string, InOf<R>>>, "optional"> =>
    new Field({ number, doc, type: { kind: "map", of: typeOf(of) }, presence: "optional" }),
  listRecursive: <O, I = O>(
    number: number,
    message: () => Message,
    doc: string,
  ): Field<readonly O[], readonly I[], "optional"> =>
    new Field({ number, doc, type: { kind: "list", of: typeOf(message) }, presence: "optional" }),
  mapRecursive: <O, I = O>(
    number: number,
    message: () => Message,
    doc: string,
  ): Field<Readonly<Record<string, O>>, Readonly<Record<string, I>>, "optional"> =>
    new Field({ number, doc, type: { kind: "map", of: typeOf(message) }, presence: "optional" }),
}
