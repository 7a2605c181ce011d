import type { FieldSpec, Type } from "../../field-spec.ts"
import type { Message } from "../../fields.ts"
import { ObjectMeta } from "../../meta.ts"
import { itemsOf, membersOf, type JsonSchema } from "../../structural/json-schema.ts"

/**
 * How server-side apply sees a type: what it owns as one (a leaf), and what it owns part by part. Made of the
 * declarations once, when first asked for. Source: structured-merge-diff schema/elements.go and the
 * x-kubernetes-list-type and -map-type extensions.
 */
export type Shape =
  | { readonly kind: "leaf" }
  | { readonly kind: "struct"; fields(): ReadonlyMap<string, FieldShape>; readonly rest: Shape | undefined }
  | { readonly kind: "map"; of(): Shape }
  /** A list whose items are told apart by their value. */
  | { readonly kind: "set" }
  /**
   * A list whose items are told apart by some of their fields, sorted by name; `fallback` stands for one that is
   * absent.
   */
  | { readonly kind: "list"; readonly keys: readonly ListKey[]; of(): Shape }
  /** Anything: objects part by part, all else as one. */
  | { readonly kind: "any" }

interface ListKey {
  readonly name: string
  /** The name as it stands in a path element: `"name":` */
  readonly quoted: string
  readonly fallback: unknown
}

export interface FieldShape {
  /** `f:name` */
  readonly element: string
  readonly shape: Shape
  /**
   * Held by value in Go, so there even in an empty object: creating it owns what is inside, not the field itself, nor
   * its zero.
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

/** The shape of a field, with what it says of its list or map. */
export function shapeOfField(spec: FieldSpec): Shape {
  if (spec.mapType === "atomic") return LEAF_SHAPE
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
      return ANY
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
 * The shape of what a schema of a custom resource describes. Source: kube-openapi pkg/schemaconv,
 * apiextensions-apiserver pkg/controller/openapi/builder.
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

/** What stands for a key that is absent: its default, or the zero of what Go never leaves out. */
function fallbackOf(spec: FieldSpec | undefined): unknown {
  if (spec === undefined || spec.default !== undefined) return spec?.default
  if (spec.presence !== "required" && spec.printZero !== true) return undefined
  return spec.type.kind === "string" ? "" : spec.type.kind === "bool" ? false : 0
}

/** The shape of a message that may contain the one being made: nothing of it is looked at before it is walked. */
function lazily(message: () => Message): Shape {
  const made = shapes.get(message())
  return made ?? shapeOf(message())
}

/** The path element of a list item, or undefined when it lacks every key. */
export function elementOf(shape: Shape & { kind: "list" | "set" }, item: unknown): string | undefined {
  if (shape.kind === "set") return `v:${JSON.stringify(item)}`
  if (typeof item !== "object" || item === null) return undefined
  const values = item as Readonly<Record<string, unknown>>
  let text = ""
  for (const { name, quoted, fallback } of shape.keys) {
    const value = values[name] ?? fallback
    if (value === undefined || value === null) continue
    text += `${text === "" ? "" : ","}${quoted}${JSON.stringify(value)}`
  }
  return text === "" ? undefined : `k:{${text}}`
}

export type ListShape = Shape & { kind: "list" | "set" }

/** The declared fields; none where the names are anything. */
export const fieldsOf = (shape: Shape): ReadonlyMap<string, FieldShape> | undefined =>
  shape.kind === "struct" ? shape.fields() : undefined
/** What a value is whose name no field has. */
export const otherOf = (shape: Shape): Shape =>
  shape.kind === "struct" ? (shape.rest ?? ANY) : shape.kind === "map" ? shape.of() : ANY
/** What the items are. */
export const itemOf = (shape: ListShape): Shape => (shape.kind === "list" ? shape.of() : LEAF_SHAPE)
/** The path element of an item; those without keys are known by their index. */
export const elementAt = (shape: ListShape, items: readonly unknown[], i: number): string =>
  elementOf(shape, items[i]) ?? `i:${i}`
