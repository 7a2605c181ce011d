import { ExactNumber } from "../../apimachinery/json/exact-number.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { fieldOf } from "../escape.ts"
import { equal } from "./compare.ts"
import { parseDateTime, parseSchemaDuration } from "../formats.ts"
import type { Walk } from "../limits.ts"
import { DYN, type CelType } from "../type.ts"
import {
  ArrayList,
  CelError,
  Double,
  Duration,
  intOf,
  isInt,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts"

/**
 * Returns the value of parsed JSON for an expression, by the type that the schema declares; the elements of containers
 * are converted when they are read. Data that does not match its schema becomes an error value. Source: apiserver
 * pkg/cel/common/valuesunstructured.go.
 */
export function valueOf(json: unknown, type: CelType): Value {
  if (typeof json === "string") return textOf(json, type)
  if (typeof json === "number" || json instanceof ExactNumber) return numberOf(json, type)
  if (typeof json === "boolean") return type.kind === "bool" || type.kind === "dyn" ? json : unexpected(type)
  if (json === null || json === undefined) {
    if (type.kind === "dyn" || type.kind === "null" || type.nullable === true) return null
    return new CelError("invalid data, got null for schema with nullable=false")
  }
  if (isValue(json)) return json
  if (Array.isArray(json)) {
    if (type.kind === "list") return new JsonList(json, type)
    return type.kind === "dyn" ? new JsonList(json, ANY_LIST) : unexpected(type)
  }
  if (!isJsonObject(json)) return unexpected(type)
  if (type.kind === "object" && type.fields !== undefined) return new JsonObject(json, type)
  if (type.kind === "map") return new JsonMap(json, type.params[1]!)
  return type.kind === "dyn" ? new JsonMap(json, DYN) : unexpected(type)
}

const ANY_LIST: CelType = { kind: "list", name: "list", params: [DYN], maxElements: 0, minSerializedSize: 2 }

/** Whether something is a value already: variables may have values that are not JSON, such as an authorizer. */
const isValue = (json: unknown): json is Value =>
  typeof json === "bigint" ||
  json instanceof CelError ||
  json instanceof Optional ||
  json instanceof StructValue ||
  json instanceof OpaqueValue ||
  json instanceof ListValue ||
  json instanceof MapValue ||
  json instanceof Double ||
  json instanceof Uint ||
  json instanceof Timestamp ||
  json instanceof Duration ||
  json instanceof TypeValue ||
  json instanceof Uint8Array

function unexpected(type: CelType): CelError {
  switch (type.kind) {
    case "object":
    case "map":
      return new CelError("invalid data, expected a map for the provided schema with type=object")
    case "list":
      return new CelError("invalid data, expected an array for the provided schema with type=array")
    case "double":
      return new CelError("invalid data, expected float")
    default:
      return new CelError(`invalid data, expected ${type.kind}`)
  }
}

function textOf(text: string, type: CelType): Value {
  switch (type.kind) {
    case "string":
    case "dyn":
      return text
    case "duration": {
      const nanos = parseSchemaDuration(text)
      return nanos === undefined ? new CelError(`Invalid duration ${text}`) : new Duration(nanos)
    }
    case "timestamp": {
      const nanos = parseDateTime(text)
      return nanos === undefined ? new CelError(`Invalid date-time formatted string ${text}`) : new Timestamp(nanos)
    }
    case "bytes":
      return new Uint8Array(Buffer.from(text, "base64"))
    default:
      return unexpected(type)
  }
}

function numberOf(json: number | ExactNumber, type: CelType): Value {
  if (type.kind === "double") return new Double(Number(json instanceof ExactNumber ? json.text : json))
  if (type.kind !== "int" && type.kind !== "dyn") return unexpected(type)
  if (typeof json === "number") {
    if (Number.isSafeInteger(json)) return json + 0
    return type.kind === "dyn" ? new Double(json) : unexpected(type)
  }
  if (/^-?[0-9]+$/.test(json.text)) {
    const value = BigInt(json.text)
    if (BigInt.asIntN(64, value) === value) return intOf(value)
  }
  return type.kind === "dyn" ? new Double(Number(json.text)) : unexpected(type)
}

/**
 * Whether `a` is an object or a list with a schema and `b` is of another type. Upstream then returns an error for `a ==
 * b`, where it returns false for values without a schema.
 */
export function isOfOtherKind(a: Value, b: Value): boolean {
  if (b === null) return false
  if (a instanceof JsonList) return a.hasSchema && !(b instanceof ListValue)
  const isSchemaObject = a instanceof JsonObject || (a instanceof JsonMap && a.hasSchema)
  return isSchemaObject && !(b instanceof MapValue || b instanceof StructValue)
}

type Json = Readonly<Record<string, unknown>>

/** An object whose schema names its properties. */
export class JsonObject extends StructValue {
  readonly isMade = false
  readonly json: Json
  readonly type: CelType

  constructor(json: Json, type: CelType) {
    super()
    this.json = json
    this.type = type
  }
  get size(): number {
    return Object.keys(this.json).length
  }
  /** A property that is null counts as absent. */
  has(field: string): boolean {
    const declared = fieldOf(this.type, field)
    return declared !== undefined && this.json[declared.property] !== undefined && this.json[declared.property] !== null
  }
  get(field: string): Value {
    const declared = fieldOf(this.type, field)
    const json = declared === undefined ? undefined : this.json[declared.property]
    if (json === undefined || json === null) return new CelError(`no such key: ${field}`)
    return valueOf(json, declared!.type)
  }
  fieldNames(): readonly string[] {
    const names: string[] = []
    for (const [name, { property }] of this.type.fields!) if (this.json[property] !== undefined) names.push(name)
    return names
  }
  equals(other: StructValue, walk: Walk): boolean {
    if (!(other instanceof JsonObject) || this.size !== other.size) return false
    const declared = new Map([...this.type.fields!].map(([name, { property }]) => [property, name]))
    return Object.entries(this.json).every(([property, value]) => {
      const name = declared.get(property)
      if (name === undefined) {
        const counterpart = other.json[property]
        return counterpart === undefined || equal(valueOf(value, DYN), valueOf(counterpart, DYN), walk)
      }
      if (this.has(name) !== other.has(name)) return false
      return !this.has(name) || equal(this.get(name), other.get(name), walk)
    })
  }
}

/** An object whose properties all have one type. */
export class JsonMap extends MapValue {
  readonly json: Json
  readonly #value: CelType

  constructor(json: Json, value: CelType) {
    super()
    this.json = json
    this.#value = value
  }
  get hasSchema(): boolean {
    return this.#value !== DYN
  }
  get size(): number {
    return Object.keys(this.json).length
  }
  find(key: Value): Value | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.json, key)) return undefined
    return valueOf(this.json[key], this.#value)
  }
  keys(): Iterable<Value> {
    return Object.keys(this.json)
  }
}

/** An array; lists of type set and map compare and join as their kind says. */
export class JsonList extends ListValue {
  readonly json: readonly unknown[]
  readonly #type: CelType

  constructor(json: readonly unknown[], type: CelType) {
    super()
    this.json = json
    this.#type = type
  }
  get hasSchema(): boolean {
    return this.#type !== ANY_LIST
  }
  get size(): number {
    return this.json.length
  }
  at(index: number): Value {
    return valueOf(this.json[index], this.#type.params[0]!)
  }
  override equals(other: ListValue, walk: Walk): boolean | undefined {
    if (this.#type.listType === undefined) return undefined
    const mine = new Map([...this].map((item) => [this.#key(item), item]))
    return [...other].every((item) => {
      const counterpart = mine.get(this.#key(item))
      return counterpart !== undefined && (this.#type.listType!.kind === "set" || equal(counterpart, item, walk))
    })
  }
  override concat(other: ListValue): ListValue {
    const { listType } = this.#type
    if (listType === undefined) return super.concat(other)
    const items = new Map([...this].map((item) => [this.#key(item), item]))
    for (const item of other) {
      const key = this.#key(item)
      if (listType.kind === "map" || !items.has(key)) items.set(key, item)
    }
    return new JoinedList([...items.values()], this.#type)
  }
  #key(item: Value): string {
    const { listType } = this.#type
    const parts = listType?.kind === "map" ? listType.keys.map((key) => keyPart(item, key)) : [item]
    return JSON.stringify(parts.map(primitive))
  }
}

/** The result of joining a set or a map list, which is compared and joined in the same way. */
class JoinedList extends JsonList {
  readonly #items: ArrayList
  constructor(items: readonly Value[], type: CelType) {
    super(items, type)
    this.#items = new ArrayList(items)
  }
  override at(index: number): Value {
    return this.#items.at(index)
  }
}

function keyPart(item: Value, key: string): Value {
  if (item instanceof JsonObject) return valueOf(item.json[key], DYN)
  return item instanceof MapValue ? (item.find(key) ?? null) : null
}

/** Returns a JSON value that differs for different scalars. */
const primitive = (value: Value): unknown => {
  if (isInt(value)) return `i${value}`
  if (value instanceof Double) return `d${value.value}`
  if (value instanceof Duration || value instanceof Timestamp) return `t${value.nanos}`
  return typeof value === "string" || typeof value === "boolean" || value === null ? value : String(value)
}
