import { Cursor, DecodeError, type Decode } from "../decoding/decoder-cursor.ts"
import { decoderOf } from "../decoding/decoder.ts"
import { ApiError } from "../errors.ts"
import { ExactNumber } from "../json/exact-number.ts"
import { invalidValue } from "../validation/field-errors.ts"
import { isJsonObject } from "../json/json-value.ts"
import { setKey } from "../json/set-key.ts"
import { ObjectMeta } from "../meta.ts"
import { itemsOf, membersOf, type JsonSchema } from "./json-schema.ts"
import { pushAll } from "../../lists/push-all.ts"

/**
 * Makes a custom object from plain JSON: drops and reports fields that the schema does not declare, drops nulls where
 * the schema does not allow them, decodes the metadata and sets defaults. Types are not checked: a wrong type is a
 * fault of the object (422), not of the request. As with built-in kinds, a value that needs no change is returned as
 * the same reference, and a value that is the same reference in `old` is not decoded again. Source:
 * apiextensions-apiserver pkg/apiserver unstructuredSchemaCoercer, schema/pruning, schema/defaulting,
 * schema/objectmeta.
 */
export function coercerOf(root: JsonSchema): Decode {
  const node = rootOf(root)
  return (value, cursor, _depth, old) => coerced(node, value, cursor, old, true)
}

/** Drops undeclared fields without setting defaults, for values in the storage version. */
export function prunedTo(root: JsonSchema, value: object): object {
  return coerced(rootOf(root), value, new Cursor(), undefined, false) as object
}

/** Returns a value with the defaults of a schema that is not the root, such as the default of a field. */
export const withDefaults = (schema: JsonSchema, value: unknown): unknown =>
  new Walk(new Cursor(), true).value(nodeOf(schema), value, 0, undefined, false)

/** Returns the paths of fields that a schema would drop. */
export function unknownIn(schema: JsonSchema, value: unknown): readonly string[] {
  const cursor = new Cursor()
  new Walk(cursor, false).value(nodeOf(schema), value, 0, undefined, false)
  return cursor.unknown
}

/** The parts of one schema that the walk needs; made at first use. */
interface Node {
  readonly schema: JsonSchema
  property(name: string): Node | undefined
  /** The node for fields without a declared property; undefined when such fields are unknown. */
  readonly rest: Node | undefined
  readonly items: Node | undefined
  readonly keepsUnknown: boolean
  readonly isResource: boolean
  readonly nullable: boolean
  /** The properties that have a default. */
  readonly filled: readonly { readonly name: string; readonly node: Node }[]
  readonly hasDefault: boolean
  /** Returns the default including the defaults of its own fields; made once and shared. */
  fallback(): unknown
  /** The length of the default as JSON. */
  charactersOfFallback(): number
}

const nodes = new WeakMap<JsonSchema, Node>()
const roots = new WeakMap<JsonSchema, Node>()

function nodeOf(schema: JsonSchema): Node {
  let node = nodes.get(schema)
  if (node === undefined)
    nodes.set(schema, (node = makeNode(schema, schema["x-kubernetes-embedded-resource"] === true)))
  return node
}

/** Returns the schema of a whole object, which always has apiVersion, kind and metadata. */
function rootOf(schema: JsonSchema): Node {
  let node = roots.get(schema)
  if (node === undefined) roots.set(schema, (node = makeNode(schema, true)))
  return node
}

/** The schema of values in a map that accepts anything. */
const NOTHING_KNOWN: JsonSchema = {}

function makeNode(schema: JsonSchema, isResource: boolean): Node {
  const { properties, additionalProperties } = schema
  const members = new Map<string, Node>()
  let rest: Node | undefined
  let items: Node | undefined
  let filled: { readonly name: string; readonly node: Node }[] | undefined
  let fallback: { readonly value: unknown } | undefined
  let characters: number | undefined
  const node: Node = {
    schema,
    property(name) {
      const cached = members.get(name)
      if (cached !== undefined) return cached
      if (properties === undefined || !Object.hasOwn(properties, name)) return undefined
      const made = nodeOf(properties[name]!)
      members.set(name, made)
      return made
    },
    get rest() {
      return additionalProperties === undefined ? undefined : (rest ??= nodeOf(membersOf(schema) ?? NOTHING_KNOWN))
    },
    get items() {
      const of = itemsOf(schema)
      return of === undefined ? undefined : (items ??= nodeOf(of))
    },
    keepsUnknown: schema["x-kubernetes-preserve-unknown-fields"] === true,
    isResource,
    // Null is kept in values that no schema describes.
    nullable: schema.nullable === true || schema === NOTHING_KNOWN,
    get filled() {
      return (filled ??= Object.entries(properties ?? {}).flatMap(([name, { default: value }]) =>
        value === undefined || value === null ? [] : [{ name, node: node.property(name)! }],
      ))
    },
    hasDefault: schema.default !== undefined && schema.default !== null,
    fallback: () => (fallback ??= { value: withDefaults(schema, schema.default) }).value,
    charactersOfFallback: () => (characters ??= JSON.stringify(node.fallback()).length),
  }
  return node
}

function coerced(root: Node, value: unknown, cursor: Cursor, old: unknown, fills: boolean): unknown {
  if (!isJsonObject(value)) throw cursor.mismatch(value, "map[string]interface {}", -1)
  const input = value
  const oldFields = old as Readonly<Record<string, unknown>> | undefined
  const first = cursor.unknown.length
  const metadata = metadataOf(input["metadata"] ?? {}, "", cursor, oldFields?.["metadata"])
  const afterMetadata = cursor.unknown.length
  const object = new Walk(cursor, fills).object(root, input, 0, oldFields, root.keepsUnknown)
  // Upstream reports unknown fields of the metadata first, then the others in the order of their paths.
  if (cursor.unknown.length > afterMetadata)
    pushAll(
      cursor.unknown,
      cursor.unknown.splice(afterMetadata).sort((a, b) => (a < b ? -1 : 1)),
    )
  if (first === cursor.unknown.length && metadata === input["metadata"]) return object
  return { ...object, metadata }
}

/** Decodes the metadata of the object, or of an embedded one at `path`. */
function metadataOf(value: unknown, path: string, cursor: Cursor, old: unknown): unknown {
  if (value !== undefined && value === old) return value
  const inner = new Cursor()
  const metadata = decoderOf(ObjectMeta)(value, inner, 0, old)
  for (const unknown of inner.unknown)
    cursor.unknown.push(path === "" ? `metadata.${unknown}` : `${path}.metadata.${unknown}`)
  return metadata
}

const META: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"])

/** The characters of the defaults that one object gets, each time it gets them; more could not be stored. */
const MOST_DEFAULTED = 8 * 1024 * 1024

class Walk {
  readonly #cursor: Cursor
  readonly #fills: boolean
  #defaulted = 0
  constructor(cursor: Cursor, fills: boolean) {
    this.#cursor = cursor
    this.#fills = fills
  }

  /** `keeps` is true inside an array that preserves unknown fields. */
  value(node: Node, value: unknown, depth: number, old: unknown, keeps: boolean): unknown {
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return this.#list(node, value, depth, old, keeps)
    if (value instanceof ExactNumber) return numberOf(value)
    return this.object(node, value as Readonly<Record<string, unknown>>, depth, old, keeps || node.keepsUnknown)
  }

  object(
    node: Node,
    input: Readonly<Record<string, unknown>>,
    depth: number,
    old: unknown,
    keeps: boolean,
  ): Readonly<Record<string, unknown>> {
    const oldFields = old as Readonly<Record<string, unknown>> | undefined
    const cursor = this.#cursor
    let out: Record<string, unknown> | undefined
    for (const key in input) {
      const given = input[key]
      if (node.isResource && META.has(key)) {
        if (depth === 0) continue
        const taken = this.#identity(key, given, depth, oldFields?.[key])
        if (taken !== given) setKey((out ??= { ...input }), key, taken)
        continue
      }
      const child = node.property(key) ?? node.rest
      if (child === undefined) {
        if (keeps) {
          const taken = exact(given, oldFields?.[key])
          if (taken !== given) setKey((out ??= { ...input }), key, taken)
          continue
        }
        if (given === undefined) continue
        if (depth > 0 || !META.has(key)) {
          cursor.steps[depth] = key
          cursor.unknown.push(cursor.path(depth))
        }
        delete (out ??= { ...input })[key]
        continue
      }
      if (given === null && !child.nullable) {
        out ??= { ...input }
        if (child.hasDefault && this.#fills) setKey(out, key, this.#fallback(child))
        else if (!child.hasDefault && !cursor.keepsNulls) delete out[key]
        continue
      }
      if (typeof given !== "object" || given === null || given === oldFields?.[key]) continue
      cursor.steps[depth] = key
      const taken = this.value(child, given, depth + 1, oldFields?.[key], false)
      if (taken !== given) setKey((out ??= { ...input }), key, taken)
    }
    if (this.#fills && node.filled.length > 0) {
      const present = out ?? input
      for (const { name, node: child } of node.filled)
        if (present[name] === undefined) setKey((out ??= { ...input }), name, this.#fallback(child))
    }
    return out ?? input
  }

  #list(node: Node, input: readonly unknown[], depth: number, old: unknown, keeps: boolean): readonly unknown[] {
    const { items } = node
    const oldItems = old as readonly unknown[] | undefined
    let out: unknown[] | undefined
    for (let i = 0; i < input.length; i++) {
      const given = input[i]
      if (typeof given !== "object" || (given !== null && given === oldItems?.[i])) continue
      let taken: unknown = given
      if (given === null) {
        if (items?.hasDefault === true && !items.nullable && this.#fills) taken = this.#fallback(items)
      } else {
        this.#cursor.steps[depth] = i
        const within = keeps || node.keepsUnknown
        taken =
          items === undefined && within
            ? exact(given, oldItems?.[i])
            : this.value(items ?? nodeOf(NOTHING_KNOWN), given, depth + 1, oldItems?.[i], within)
      }
      if (taken !== given) (out ??= [...input])[i] = taken
    }
    return out ?? input
  }

  /**
   * Returns the default of a node. The items of a list share it, but each has it in the object's JSON.
   * @throws ApiError 500 in etcd's words when the object gets so many that etcd would refuse its size
   */
  #fallback(node: Node): unknown {
    this.#defaulted += node.charactersOfFallback()
    if (this.#defaulted > MOST_DEFAULTED) throw new ApiError("Unknown", "etcdserver: request is too large")
    return node.fallback()
  }

  /** Decodes apiVersion, kind or metadata of an embedded resource. */
  #identity(key: string, given: unknown, depth: number, old: unknown): unknown {
    const cursor = this.#cursor
    const path = depth === 0 ? "" : cursor.path(depth - 1)
    const at = (name: string): string => (path === "" ? name : `${path}.${name}`)
    if (key !== "metadata") {
      if (typeof given === "string") return given
      const { field, message } = invalidValue(at(key), given, "must be a string")
      throw new DecodeError(`${field}: ${message}`)
    }
    try {
      return metadataOf(given, path, cursor, old)
    } catch (err) {
      if (!(err instanceof DecodeError)) throw err
      const { field, message } = invalidValue(at(key), given, err.message)
      throw new DecodeError(`${field}: ${message}`)
    }
  }
}

/** Converts a value that no schema describes: its numbers become what Go would hold. */
function exact(value: unknown, old: unknown): unknown {
  if (typeof value !== "object" || value === null || value === old) return value
  if (value instanceof ExactNumber) return numberOf(value)
  if (Array.isArray(value)) {
    let out: unknown[] | undefined
    for (let i = 0; i < value.length; i++) {
      const taken = exact(value[i], undefined)
      if (taken !== value[i]) (out ??= [...(value as unknown[])])[i] = taken
    }
    return out ?? value
  }
  const input = value as Readonly<Record<string, unknown>>
  let out: Record<string, unknown> | undefined
  for (const key in input) {
    const taken = exact(input[key], undefined)
    if (taken !== input[key]) setKey((out ??= { ...input }), key, taken)
  }
  return out ?? input
}

/** Returns the number that Go would hold: an exact integer of 64 bits, or a float. */
function numberOf(value: ExactNumber): ExactNumber | number {
  const { text } = value
  if (!/^-?\d+$/.test(text)) return floatOf(text)
  // A number with more digits than an int64 would take long to parse.
  if (text.length > MOST_DIGITS) return floatOf(text)
  const integer = BigInt(text)
  return BigInt.asIntN(64, integer) === integer ? value : floatOf(text)
}

const MOST_DIGITS = 20

/** @throws DecodeError when it is larger than any float */
function floatOf(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value))
    throw new DecodeError(`json: cannot unmarshal number ${text} into Go value of type float64`)
  return value
}
