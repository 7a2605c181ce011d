import { Buffer } from "node:buffer"
import type { FieldSpec, Message, Scalar, Type } from "./fields.ts"
import { ExactNumber } from "./exact-number.ts"
import { isJsonObject } from "./json-value.ts"
import { canonicalQuantity, QUANTITY_FORM } from "./quantity.ts"
import { RawJson } from "./raw-json.ts"
import { canonicalMicroTime, canonicalTime } from "./time.ts"

/**
 * Turns plain JSON into the value of a message: nulls dropped, types checked, unknown fields dropped and listed,
 * defaults filled in. Each message is compiled once, when first met, into closures over its fields.
 *
 * Invariant: what needs no change is given back as the same reference, down to each nested value, so an object that was
 * decoded before costs a walk and no copy. The input is never changed. `known` is a value of the same type that was
 * decoded before: what is the very same at the same place in it is canonical already, and not looked at again.
 */
export type Decode = (value: unknown, cursor: Cursor, depth: number, known?: unknown) => unknown

/** Where the walk stands, kept as plain arrays so that a path costs nothing until it is needed. */
export class Cursor {
  /** Field name or list index per depth. */
  readonly steps: (string | number)[] = []
  /** The struct whose field `steps` of the same depth names; undefined for steps into lists and maps. */
  readonly structs: (Message | undefined)[] = []
  /** Paths of the fields that no message knows. */
  readonly unknown: string[] = []

  /** `spec.containers[0].name` */
  path(depth: number): string {
    let path = ""
    for (let i = 0; i <= depth; i++) {
      const step = this.steps[i]!
      path += typeof step === "number" ? `[${step}]` : path === "" ? step : `.${step}`
    }
    return path
  }

  /**
   * What Go's decoder says of a value it cannot take: innermost struct, then the path without indices. Source:
   * encoding/json UnmarshalTypeError.
   */
  mismatch(value: unknown, goType: string, depth: number): DecodeError {
    let owner: Message | undefined
    const names: string[] = []
    for (let i = 0; i <= depth; i++) {
      const struct = this.structs[i]
      if (struct === undefined) continue
      owner = struct
      names.push(String(this.steps[i]))
    }
    const where = owner === undefined ? "Go value" : `Go struct field ${shortName(owner)}.${names.join(".")}`
    return new DecodeError(`json: cannot unmarshal ${jsonKind(value, goType)} into ${where} of type ${goType}`)
  }
}

/** The JSON is not what the message takes; the text is what Go's decoder would say. */
export class DecodeError extends Error {
  override readonly name = "DecodeError"
}

const compiled = new WeakMap<Message, Decode>()

/** The decoder of a message; the same function every time. */
export function decoderOf(message: Message): Decode {
  const known = compiled.get(message)
  if (known !== undefined) return known
  const decode = compileMessage(message)
  compiled.set(message, decode)
  return decode
}

interface FieldDecoder {
  readonly name: string
  readonly decode: Decode
  /** The type whose values, but for the empty one, are canonical as they are: most fields are text. */
  readonly plain: "string" | "boolean" | undefined
  /** Whether null stands for what is not there, and stays. */
  readonly orNull: boolean
  /**
   * Says whether a value is dropped: the zero that Go, which cannot tell it from absent in this field, would leave out;
   * see `droppedZero`.
   */
  readonly isNothing: ((value: unknown) => boolean) | undefined
}

function compileMessage(message: Message): Decode {
  const { rules } = message
  if (rules.structural !== undefined) return rules.structural.decode
  const keepUnknown = rules.preserveUnknownFields === true
  const applyDefaults = rules.defaults as ((value: object, known?: object) => object) | undefined
  // Compiled at the first value: a message may contain itself.
  let fields: Map<string, FieldDecoder> | undefined
  let filled: readonly Fill[] = []
  const compile = (): Map<string, FieldDecoder> => {
    const specs = Object.entries(message.fields).map(([name, { spec }]) => ({ name, spec }))
    filled = specs.flatMap(({ name, spec }) => fillOf(name, spec, rules.unchecked === true || spec.ownRule === true))
    return (fields = new Map(
      specs.map(({ name, spec }) => [
        name,
        {
          name,
          decode: decodeType(spec.type),
          plain: plainOf(spec),
          orNull: spec.orNull === true,
          isNothing: droppedZero(spec),
        },
      ]),
    ))
  }
  const goType = goTypeOf(message)

  const { ownJson } = rules
  const decode: Decode = (value, cursor, depth, known) => {
    if (!isJsonObject(value)) throw cursor.mismatch(value, goType, depth - 1)
    const declared = fields ?? compile()
    const input = value
    const before = known as Readonly<Record<string, unknown>> | undefined
    let out: Record<string, unknown> | undefined
    cursor.structs[depth] = message
    for (const key in input) {
      const given = input[key]
      const field = declared.get(key)
      if (field === undefined) {
        if (keepUnknown || given === undefined) continue
        cursor.steps[depth] = key
        cursor.unknown.push(cursor.path(depth))
        out ??= copy(input)
        delete out[key]
        continue
      }
      if (given === null || given === undefined) {
        if (given === null && field.orNull) continue
        out ??= copy(input)
        delete out[key]
        continue
      }
      if (typeof given === field.plain && given !== "" && given !== false) continue
      const old = before?.[key]
      if (old === given) continue
      cursor.steps[depth] = key
      cursor.structs[depth] = message
      const taken = field.decode(given, cursor, depth + 1, old)
      if (field.isNothing?.(taken) === true) {
        out ??= copy(input)
        delete out[key]
      } else if (taken !== given) (out ??= copy(input))[key] = taken
    }
    const present = out ?? input
    for (const { name, empty, value: fill } of filled) {
      const given = present[name]
      if (given === undefined || given === empty || (empty === NO_ITEMS && isNoItems(given)))
        (out ??= copy(input))[name] = fill()
    }
    return applyDefaults === undefined ? (out ?? input) : applyDefaults(out ?? input, depth === 0 ? before : undefined)
  }
  if (ownJson === undefined) return decode
  return (value, cursor, depth, known) => {
    if (ownJson.takes(value)) return value
    const told = cursor.unknown.length
    const taken = decode(value, cursor, depth, known)
    cursor.unknown.length = told
    return taken
  }
}

function plainOf({ type: { kind }, disabled }: FieldSpec): FieldDecoder["plain"] {
  if (disabled === true) return undefined
  return kind === "string" ? "string" : kind === "bool" ? "boolean" : undefined
}

/** Own properties, `__proto__` among them, onto a plain object. */
const copy = (input: object): Record<string, unknown> => ({ ...input })

interface Fill {
  readonly name: string
  /** Counts as absent beside undefined: the zero of a scalar that has a default and is no pointer in Go. */
  readonly empty: unknown
  value(): unknown
}

/**
 * What is put in where nothing was sent: the default, decoded once and shared; for printed zero values, and numbers and
 * structs that Go holds by value, zero. A required text stays missing, so that it can be reported, unless declarations
 * do not check it.
 */
function fillOf(
  name: string,
  { presence, type, pointer, printZero, orNull, default: fallback }: FieldSpec,
  isUnchecked: boolean,
): Fill[] {
  if (orNull === true) return [{ name, empty: undefined, value: () => null }]
  const held = presence === "required" && pointer !== true
  if ((presence === "defaulted" && fallback !== undefined) || (held && type.kind === "message")) {
    let made: unknown
    const empty =
      pointer === true
        ? undefined
        : isNoItems(fallback)
          ? undefined
          : type.kind === "list"
            ? NO_ITEMS
            : ZERO[type.kind as Scalar]
    return [{ name, empty, value: () => (made ??= decodeType(type)(fallback ?? {}, new Cursor(), 0)) }]
  }
  const zero =
    printZero === true || (held && (type.kind !== "string" || isUnchecked)) ? ZERO[type.kind as Scalar] : undefined
  return zero === undefined ? [] : [{ name, empty: undefined, value: () => zero }]
}

/** Go's zero of a list: one without items is no other than none. */
const NO_ITEMS: unique symbol = Symbol("no items")
const isNoItems = (value: unknown): boolean => Array.isArray(value) && value.length === 0

const ZERO: Partial<Record<Scalar, unknown>> = {
  string: "",
  bool: false,
  int32: 0,
  int64: 0,
  double: 0,
  intOrString: 0,
}

/**
 * Go holds a field that is optional and no pointer by value, and so forgets whether a zero was sent: it stores
 * `hostNetwork: false` and `env: []` as nothing at all. We must too, or an update by a Go client would seem to take
 * away what another client had sent. Source: `omitempty` of encoding/json.
 */
function droppedZero({
  presence,
  type,
  pointer,
  printZero,
  disabled,
  orNull,
}: FieldSpec): ((value: unknown) => boolean) | undefined {
  if (disabled === true) return always
  if (type.kind === "list" && orNull === true) return (value) => (value as readonly unknown[]).length === 0
  if (presence !== "optional" || pointer === true || printZero === true) return undefined
  switch (type.kind) {
    case "list":
      return (value) => (value as readonly unknown[]).length === 0
    case "map":
      return isEmpty
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

function isEmpty(value: unknown): boolean {
  for (const _ in value as object) return false
  return true
}

function decodeType(type: Type): Decode {
  switch (type.kind) {
    case "message": {
      // Resolved late, since the message may be declared after its user.
      let decode: Decode | undefined
      return (value, cursor, depth, known) => (decode ??= decoderOf(type.message()))(value, cursor, depth, known)
    }
    case "list":
      return decodeList(type)
    case "map":
      return decodeMap(type)
    default:
      return SCALARS[type.kind]
  }
}

function decodeList(type: Type & { kind: "list" }): Decode {
  const item = decodeType(type.of)
  const nothing = zeroOf(type.of)
  return (value, cursor, depth, known) => {
    if (!Array.isArray(value)) throw cursor.mismatch(value, goName(type), depth - 1)
    const before = known as readonly unknown[] | undefined
    let out: unknown[] | undefined
    for (let i = 0; i < value.length; i++) {
      const given: unknown = value[i]
      const old = before?.[i]
      if (old === given && given !== undefined) continue
      cursor.steps[depth] = i
      cursor.structs[depth] = undefined
      const taken = item(given ?? nothing, cursor, depth + 1, old)
      if (taken !== given) (out ??= [...value])[i] = taken
    }
    return out ?? value
  }
}

function decodeMap(type: Type & { kind: "map" }): Decode {
  const item = decodeType(type.of)
  const nothing = zeroOf(type.of)
  return (value, cursor, depth, known) => {
    if (!isJsonObject(value)) throw cursor.mismatch(value, goName(type), depth - 1)
    const input = value
    const before = known as Readonly<Record<string, unknown>> | undefined
    let out: Record<string, unknown> | undefined
    for (const key in input) {
      const given = input[key]
      const old = before?.[key]
      if (old === given && given !== undefined) continue
      cursor.steps[depth] = key
      cursor.structs[depth] = undefined
      const taken = item(given ?? nothing, cursor, depth + 1, old)
      // defineProperty, since assigning the key "__proto__" would set the prototype instead.
      if (taken !== given)
        Object.defineProperty((out ??= copy(input)), key, {
          value: taken,
          enumerable: true,
          writable: true,
          configurable: true,
        })
    }
    return out ?? value
  }
}

/** What Go makes of a null inside a list or a map: the zero value. */
function zeroOf(type: Type): unknown {
  switch (type.kind) {
    case "message":
    case "map":
      return {}
    case "list":
      return []
    case "quantity":
      return "0"
    case "json":
    case "rawExtension":
    case "fieldsV1":
      return null
    default:
      return ZERO[type.kind] ?? ""
  }
}

const wrong =
  (goType: string) =>
  (value: unknown, cursor: Cursor, depth: number): never => {
    throw cursor.mismatch(value, goType, depth - 1)
  }
const wrongString = wrong("string")
const wrongBool = wrong("bool")
const wrongInt32 = wrong("int32")
const wrongDouble = wrong("float64")

/** Differs from upstream, which keeps every number of 64 bits: those that JavaScript would round are refused. */
function wrongInt64(value: unknown, cursor: Cursor, depth: number): never {
  const text = value instanceof ExactNumber ? value.text : typeof value === "number" ? String(value) : ""
  if (/^-?\d+$/.test(text) && text.length <= 20 && BigInt.asIntN(64, BigInt(text)) === BigInt(text))
    throw new DecodeError(
      `${cursor.path(depth - 1)}: ${text} cannot be stored exactly: give an integer between ` +
        `${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}`,
    )
  throw cursor.mismatch(value, "int64", depth - 1)
}

const text =
  (canonical: (value: string) => string | undefined, problem: (value: string) => string): Decode =>
  (value, cursor, depth) => {
    if (typeof value !== "string") throw cursor.mismatch(value, "string", depth - 1)
    const made = canonical(value)
    if (made === undefined) throw new DecodeError(problem(value))
    return made
  }
const timeProblem =
  (layout: string) =>
  (value: string): string =>
    `parsing time ${JSON.stringify(value)} as "${layout}": cannot parse ${JSON.stringify(value)} as "2006"`

/**
 * The same few quantities and times come again and again; making their canonical form costs more than all else in a
 * Pod. Emptied when full.
 */
function remembered(canonical: (value: string) => string | undefined): (value: string) => string | undefined {
  const known = new Map<string, string>()
  return (value) => {
    const before = known.get(value)
    if (before !== undefined) return before
    const made = value.length > LONGEST ? undefined : canonical(value)
    if (made === undefined) return undefined
    if (known.size >= MOST_REMEMBERED) known.clear()
    known.set(value, made)
    return made
  }
}
const MOST_REMEMBERED = 4096
/** Longer than any quantity or time of use; keeps a client from having us compute with megabytes of digits. */
const LONGEST = 256

const rememberedQuantity = remembered(canonicalQuantity)
const DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

const any: Decode = (value) => value

const SCALARS: Record<Scalar, Decode> = {
  string: (value, cursor, depth) => (typeof value === "string" ? value : wrongString(value, cursor, depth)),
  bool: (value, cursor, depth) => (typeof value === "boolean" ? value : wrongBool(value, cursor, depth)),
  int32: (value, cursor, depth) =>
    typeof value === "number" && value === (value | 0) ? value : wrongInt32(value, cursor, depth),
  int64: (value, cursor, depth) =>
    typeof value === "number" && Number.isSafeInteger(value) ? value : wrongInt64(value, cursor, depth),
  double: (value, cursor, depth) => {
    const number = value instanceof ExactNumber ? Number(value.text) : value
    return typeof number === "number" && Number.isFinite(number) ? number : wrongDouble(value, cursor, depth)
  },
  bytes: (value, cursor, depth) => {
    if (typeof value !== "string") throw cursor.mismatch(value, "[]uint8", depth - 1)
    if (BASE64.test(value)) return value
    // Go's decoder passes over line ends inside base64.
    const joined = value.replace(/[\r\n]/g, "")
    if (!BASE64.test(joined)) throw new DecodeError(`illegal base64 data at input byte ${badByte(joined)}`)
    return joined
  },
  quantity: (value, cursor, depth) => {
    // A bare number is accepted, as Quantity.UnmarshalJSON does.
    const given = typeof value === "number" ? String(value) : value instanceof ExactNumber ? value.text : value
    if (typeof given !== "string") throw cursor.mismatch(value, "string", depth - 1)
    const made = rememberedQuantity(given)
    if (made === undefined) throw new DecodeError(QUANTITY_FORM)
    return made
  },
  intOrString: (value, cursor, depth) =>
    typeof value === "string" || (typeof value === "number" && value === (value | 0))
      ? value
      : wrongInt32(value, cursor, depth),
  time: text(remembered(canonicalTime), timeProblem("2006-01-02T15:04:05Z07:00")),
  microTime: text(remembered(canonicalMicroTime), timeProblem("2006-01-02T15:04:05.000000Z07:00")),
  duration: text(
    (value) => (DURATION.test(value) ? value : undefined),
    (value) => `time: invalid duration ${JSON.stringify(value)}`,
  ),
  json: any,
  rawExtension: (value) => (value instanceof RawJson ? value : RawJson.of(value)),
  fieldsV1: any,
}

function badByte(value: string): number {
  const bad = value.search(/[^A-Za-z0-9+/]/)
  return bad === -1 ? Buffer.byteLength(value) : bad
}

/** The last part of a message's OpenAPI name, which is the Go type's name. */
const shortName = (message: Message): string => message.name.slice(message.name.lastIndexOf(".") + 1)
/** `v1.PodSpec` */
const goTypeOf = (message: Message): string => message.name.split(".").slice(-2).join(".")

function goName(type: Type): string {
  switch (type.kind) {
    case "message":
      return goTypeOf(type.message())
    case "list":
      return `[]${goName(type.of)}`
    case "map":
      return `map[string]${goName(type.of)}`
    case "double":
      return "float64"
    case "bytes":
      return "[]uint8"
    case "quantity":
      return "resource.Quantity"
    case "intOrString":
      return "intstr.IntOrString"
    case "time":
      return "v1.Time"
    case "microTime":
      return "v1.MicroTime"
    case "duration":
      return "v1.Duration"
    case "json":
    case "rawExtension":
      return "runtime.RawExtension"
    case "fieldsV1":
      return "v1.FieldsV1"
    default:
      return type.kind
  }
}

function jsonKind(value: unknown, goType: string): string {
  if (Array.isArray(value)) return "array"
  if (typeof value === "boolean") return "bool"
  // A number that would fit but for its size or fraction is shown.
  if (value instanceof ExactNumber || typeof value === "number")
    return /^int|^float/.test(goType) ? `number ${value instanceof ExactNumber ? value.text : value}` : "number"
  return value === null ? "null" : typeof value
}
