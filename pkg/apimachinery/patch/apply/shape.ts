import type { FieldSpec, Type, Message } from "../../field-spec.ts"
import { ObjectMeta } from "../../meta.ts"
import { itemsOf, membersOf, type JsonSchema } from "../../structural/json-schema.ts"

/**
 * The structure of a type for server-side apply: what is owned as one (a leaf), and what is owned part by part. Made
 * from the declarations at the first use. Source: structured-merge-diff schema/elements.go and the
 * x-kubernetes-list-type and -map-type extensions.
 */
export type Shape =
  | { readonly kind: "leaf" }
  | { readonly kind: "struct"; fields(): ReadonlyMap<string, FieldShape>; readonly rest: Shape | undefined }
  | { readonly kind: "map"; of(): Shape }
  /** A list whose items are identified by value. */
  | { readonly kind: "set" }
  /**
   * A list whose items are identified by some of their fields, sorted by name; `fallback` is the value of an absent
   * key.
   */
  | { readonly kind: "list"; readonly keys: readonly ListKey[]; of(): Shape }
  /** Any value: objects part by part, everything else as one. */
  | { readonly kind: "any" }

interface ListKey {
  readonly name: string
  /** The name as it is written in a path element: `"name":` */
  readonly quoted: string
  readonly fallback: unknown
}

export interface FieldShape {
  /** `f:name` */
  readonly element: string
  readonly shape: Shape
  /**
   * Whether Go holds the field by value, so that even an empty object has it: a manager that creates the object owns
   * the fields inside, but neither the field itself nor its zero.
   */
  readonly always: boolean
}

const LEAF_SHAPE: Shape = { kind: "leaf" }
export const ANY: Shape = { kind: "any" }

const shapes = new WeakMap<Message, Shape>()

export function shapeOf(message: Message): Shape {
  const known = shapes.get(message)
  if (known !== undefined) return known
  const { mapType, ownJson } = message.rules
  const made = mapType === "atomic" ? LEAF_SHAPE : ownJson !== undefined ? ANY : structShape(message)
  shapes.set(message, made)
  return made
}

function structShape(message: Message): Shape {
  let fields: Map<string, FieldShape> | undefined
  return {
    kind: "struct",
    rest: message.rules.preserveUnknownFields === true ? ANY : undefined,
    fields: () =>
      (fields ??= new Map([
        ...schemaFields(message.rules.structural?.schema ?? {}),
        ...Object.entries(message.fields).map(([name, { spec }]): [string, FieldShape] => [
          name,
          {
            element: `f:${name}`,
            shape: shapeOfField(spec),
            always: isByValue(spec),
          },
        ]),
      ])),
  }
}

function isByValue({ type, presence, pointer, printZero, orNull, default: fallback }: FieldSpec): boolean {
  if (orNull === true) return true
  if (pointer === true) return false
  if (printZero === true) return true
  switch (type.kind) {
    case "message":
      return presence !== "optional"
    case "string":
      return fallback === ""
    default:
      return presence === "required" || fallback === 0 || fallback === false
  }
}

/** Returns the shape of a field, with the list or map type that it declares. */
export function shapeOfField(spec: FieldSpec): Shape {
  if (spec.mapType === "atomic") return LEAF_SHAPE
  if (spec.mapType === "granular" && spec.type.kind === "message") return structShape(spec.type.message())
  return shapeOfType(spec.type, spec)
}

function shapeOfType(type: Type, spec?: FieldSpec): Shape {
  switch (type.kind) {
    case "message":
      return lazily(type.message)
    case "map":
      return { kind: "map", of: () => shapeOfType(type.of) }
    case "list":
      return listShape(type.of, spec)
    case "json":
      return type.shownAs === "rawExtension" ? LEAF_SHAPE : ANY
    default:
      return LEAF_SHAPE
  }
}

function listShape(of: Type, spec: FieldSpec | undefined): Shape {
  if (spec?.listType === "set") return { kind: "set" }
  if (spec?.listType !== "map" || of.kind !== "message") return LEAF_SHAPE
  const item = of.message()
  const keys = [...(spec.listMapKeys ?? [])]
    .sort()
    .map((name) => ({ name, quoted: `${JSON.stringify(name)}:`, fallback: fallbackOf(item.fields[name]?.spec) }))
  return { kind: "list", keys, of: () => shapeOf(item) }
}

const schemaShapes = new WeakMap<JsonSchema, Shape>()

/**
 * Returns the shape for a schema of a custom resource. Source: kube-openapi pkg/schemaconv, apiextensions-apiserver
 * pkg/controller/openapi/builder.
 */
export function shapeOfSchema(schema: JsonSchema): Shape {
  let made = schemaShapes.get(schema)
  if (made === undefined) schemaShapes.set(schema, (made = makeSchemaShape(schema)))
  return made
}

function makeSchemaShape(schema: JsonSchema): Shape {
  const items = itemsOf(schema)
  const members = membersOf(schema)
  const keeps = schema["x-kubernetes-preserve-unknown-fields"] === true
  const isAtomic = schema["x-kubernetes-map-type"] === "atomic"
  switch (schema.type) {
    case "object":
      if (isAtomic) return LEAF_SHAPE
      if (schema["x-kubernetes-embedded-resource"] === true || schema.properties !== undefined)
        return schemaStruct(schema, keeps)
      if (members !== undefined) return { kind: "map", of: () => shapeOfSchema(members) }
      return keeps ? ANY : { kind: "map", of: () => ANY }
    case "array":
      return items === undefined ? LEAF_SHAPE : schemaList(schema, items)
    default:
      return keeps && schema.type === undefined ? ANY : LEAF_SHAPE
  }
}

function schemaStruct(schema: JsonSchema, keeps: boolean): Shape {
  let fields: Map<string, FieldShape> | undefined
  return {
    kind: "struct",
    rest: keeps ? ANY : undefined,
    fields: () =>
      (fields ??= new Map([
        ...schemaFields(schema),
        ...(schema["x-kubernetes-embedded-resource"] === true ? EMBEDDED_FIELDS() : []),
      ])),
  }
}

const schemaFields = ({ properties = {} }: JsonSchema): readonly [string, FieldShape][] =>
  Object.entries(properties).map(([name, property]) => [
    name,
    { element: `f:${name}`, shape: shapeOfSchema(property), always: false },
  ])

const EMBEDDED_FIELDS = (): readonly [string, FieldShape][] => [
  ["apiVersion", { element: "f:apiVersion", shape: LEAF_SHAPE, always: false }],
  ["kind", { element: "f:kind", shape: LEAF_SHAPE, always: false }],
  ["metadata", { element: "f:metadata", shape: shapeOf(ObjectMeta), always: false }],
]

function schemaList(schema: JsonSchema, items: JsonSchema): Shape {
  if (schema["x-kubernetes-list-type"] === "set") return { kind: "set" }
  if (schema["x-kubernetes-list-type"] !== "map") return LEAF_SHAPE
  const keys = [...(schema["x-kubernetes-list-map-keys"] ?? [])]
    .sort()
    .map((name) => ({ name, quoted: `${JSON.stringify(name)}:`, fallback: items.properties?.[name]?.default }))
  return { kind: "list", keys, of: () => shapeOfSchema(items) }
}

/** Returns the value of an absent key: its default, or zero when Go always writes the field. */
function fallbackOf(spec: FieldSpec | undefined): unknown {
  if (spec === undefined || spec.default !== undefined) return spec?.default
  if (spec.presence !== "required" && spec.printZero !== true) return undefined
  return spec.type.kind === "string" ? "" : spec.type.kind === "bool" ? false : 0
}

/** Returns the shape of a message that may contain the one being made, so it is only resolved when it is walked. */
function lazily(message: () => Message): Shape {
  const made = shapes.get(message())
  return made ?? shapeOf(message())
}

/** Returns the path element of a list item; undefined when the item has none of the keys. */
export function elementOf(shape: Shape & { kind: "list" | "set" }, item: unknown): string | undefined {
  if (shape.kind === "set") return `v:${JSON.stringify(item)}`
  if (typeof item !== "object" || item === null) return undefined
  const values = item as Readonly<Record<string, unknown>>
  let text = ""
  for (const { name, quoted, fallback } of shape.keys) {
    const value = values[name] ?? fallback
    if (value === undefined || value === null) continue
    text += `${text === "" ? "" : ","}${quoted}${jsonOf(value)}`
  }
  return text === "" ? undefined : `k:{${text}}`
}

/** Does the same as JSON.stringify, and sooner for most names and numbers, which the lists of every write have. */
const jsonOf = (value: unknown): string =>
  typeof value === "string" && PLAIN.test(value)
    ? `"${value}"`
    : typeof value === "number" && Number.isSafeInteger(value)
      ? `${value}`
      : JSON.stringify(value)
const PLAIN = /^[\w./:-]*$/

export type ListShape = Shape & { kind: "list" | "set" }

/** Returns the declared fields; undefined when any name is allowed. */
export const fieldsOf = (shape: Shape): ReadonlyMap<string, FieldShape> | undefined =>
  shape.kind === "struct" ? shape.fields() : undefined
/** Returns the shape of fields that are not declared. */
export const otherOf = (shape: Shape): Shape =>
  shape.kind === "struct" ? (shape.rest ?? ANY) : shape.kind === "map" ? shape.of() : ANY
/** Returns the shape of the items. */
export const itemOf = (shape: ListShape): Shape => (shape.kind === "list" ? shape.of() : LEAF_SHAPE)
/** Returns the path element of an item; items without keys are identified by index. */
export const elementAt = (shape: ListShape, items: readonly unknown[], i: number): string =>
  elementOf(shape, items[i]) ?? `i:${i}`

/**
 * Returns what tells the items of lists apart: in sets of texts, numbers and booleans the items themselves, in lists
 * with one key its values, which takes a third of the time for the path elements that it returns of other lists.
 */
export function identitiesOf(shape: ListShape, ...lists: readonly (readonly unknown[])[]): readonly unknown[][] {
  const key = shape.kind === "set" ? undefined : shape.keys.length === 1 ? shape.keys[0]!.name : MANY_KEYS
  const identityOf = (item: unknown): unknown => (key === undefined ? item : (item as Values | null)?.[key])
  const areOwn = key !== MANY_KEYS && lists.every((items) => items.every((item) => isScalar(identityOf(item))))
  return lists.map((items) => items.map(areOwn ? identityOf : (_item, i) => elementAt(shape, items, i)))
}
const MANY_KEYS = Symbol("several keys")
type Values = Readonly<Record<string | symbol, unknown>>
const isScalar = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"
