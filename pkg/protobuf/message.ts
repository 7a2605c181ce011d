import { Reader } from "./reader.ts"
import { WIRE, Writer, type WireType } from "./writer.ts"

/**
 * Declares messages as tables, for gRPC services whose messages are few and stable:
 *
 *     const PodIP = message({ ip: field(1, "string") })
 *     const Network = message({ ip: field(1, "string"), additionalIps: repeated(2, PodIP) })
 *     Network.decode(Network.encode({ additionalIps: [{ ip: "10.42.0.2" }] }))
 *
 * The TypeScript types follow from the table: `Init` is what may be encoded (all optional), `Decoded` what is decoded
 * (proto3 zero values filled in; only nested messages may be absent). Decoded empty lists and maps are shared frozen
 * values.
 *
 * Differs from the specification: a nested message that occurs twice is replaced, not merged. No encoder splits them.
 */
export interface MessageType<F extends Fields> extends ValueType<Init<F>, Decoded<F>> {
  readonly fields: F
  encode(value: Init<F>): Uint8Array
  /** @throws ProtobufError when `data` is truncated or not protobuf. Unknown fields are skipped. */
  decode(data: Uint8Array): Decoded<F>
}

/** How one value is written and read; `zero` is the value of an absent field (undefined for a nested message). */
export interface ValueType<In, Out> {
  readonly wire: WireType
  readonly zero: Out | undefined
  /** Whether proto3 does not write the value. */
  isZero(value: In): boolean
  write(writer: Writer, value: In): void
  read(reader: Reader): Out
}

/** One row of a table. `Optional` says whether the decoded field may be absent. */
export interface Field<In, Out, Optional extends boolean> {
  readonly number: number
  readonly optional: Optional
  readonly initial: Out | undefined
  encode(writer: Writer, value: In): void
  /** Reads one occurrence of the field; `previous` is the value from earlier occurrences. */
  decode(reader: Reader, wire: number, previous: Out | undefined): Out
}

export type Fields = { readonly [name: string]: Field<unknown, unknown, boolean> }

type InOf<T> = T extends Field<infer In, infer _Out, infer _Optional> ? In : never
type OutOf<T> = T extends Field<infer _In, infer Out, infer _Optional> ? Out : never
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K]["optional"] extends true ? K : never }[keyof F]

export type Init<F extends Fields> = { readonly [K in keyof F]?: InOf<F[K]> | undefined }
export type Decoded<F extends Fields> = { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: OutOf<F[K]> } & {
  readonly [K in OptionalKeys<F>]?: OutOf<F[K]> | undefined
}
/** What `M.encode` takes. */
export type InitOf<M> = M extends MessageType<infer F> ? Init<F> : never
/** What `M.decode` returns. */
export type DecodedOf<M> = M extends MessageType<infer F> ? Decoded<F> : never

function scalar<T>(type: ValueType<T, T>): ValueType<T, T> {
  return type
}
function number(
  wire: WireType,
  write: (writer: Writer, value: number) => void,
  read: (reader: Reader) => number,
): ValueType<number, number> {
  return { wire, zero: 0, isZero: (value) => value === 0, write, read }
}

const SCALARS = {
  string: scalar<string>({
    wire: WIRE.bytes,
    zero: "",
    isZero: (value) => value === "",
    write: (writer, value) => writer.string(value),
    read: (reader) => reader.string(),
  }),
  bytes: scalar<Uint8Array>({
    wire: WIRE.bytes,
    zero: new Uint8Array(0),
    isZero: (value) => value.length === 0,
    write: (writer, value) => writer.bytes(value),
    read: (reader) => reader.bytes(),
  }),
  /** Bytes that are usually text: a text is written as UTF-8. Always read as bytes. */
  textOrBytes: {
    wire: WIRE.bytes,
    zero: new Uint8Array(0),
    isZero: (value) => value.length === 0,
    write: (writer, value) => (typeof value === "string" ? writer.string(value) : writer.bytes(value)),
    read: (reader) => reader.bytes(),
  } satisfies ValueType<string | Uint8Array, Uint8Array>,
  bool: scalar<boolean>({
    wire: WIRE.varint,
    zero: false,
    isZero: (value) => !value,
    write: (writer, value) => writer.bool(value),
    read: (reader) => reader.bool(),
  }),
  int32: number(
    WIRE.varint,
    (w, v) => w.int32(v),
    (r) => r.int32(),
  ),
  uint32: number(
    WIRE.varint,
    (w, v) => w.uint32(v),
    (r) => r.uint32(),
  ),
  /**
   * As a number: exact within ±2^53, rounded beyond (a current time in nanoseconds since the epoch is exact to 256 ns).
   */
  int64: number(
    WIRE.varint,
    (w, v) => w.int64(v),
    (r) => r.int64(),
  ),
  uint64: number(
    WIRE.varint,
    (w, v) => w.uint64(v),
    (r) => r.uint64(),
  ),
  double: number(
    WIRE.fixed64,
    (w, v) => w.double(v),
    (r) => r.double(),
  ),
}
type Scalar = keyof typeof SCALARS

type TypeName = Scalar | ValueType<never, unknown>
type TypeOf<T> = T extends Scalar ? (typeof SCALARS)[T] : T
type TypeIn<T> = TypeOf<T> extends ValueType<infer In, infer _Out> ? In : never
type TypeOut<T> = TypeOf<T> extends ValueType<infer _In, infer Out> ? Out : never
type IsMessage<T> = T extends MessageType<Fields> ? true : false

/** Returns the entry of SCALARS for a type's name. This is the one step that the compiler cannot check. */
function resolve<T extends TypeName>(type: T): ValueType<TypeIn<T>, TypeOut<T>> {
  return (typeof type === "string" ? SCALARS[type as Scalar] : type) as unknown as ValueType<TypeIn<T>, TypeOut<T>>
}

/**
 * Declares a singular field. An absent nested message is undefined; an absent field of another type has its zero value.
 */
export function field<T extends TypeName>(number: number, type: T): Field<TypeIn<T>, TypeOut<T>, IsMessage<T>> {
  const value = resolve(type)
  return {
    number,
    optional: (value.zero === undefined) as IsMessage<T>,
    initial: value.zero,
    encode(writer, given) {
      if (value.isZero(given)) return
      writer.tag(number, value.wire)
      value.write(writer, given)
    },
    decode: (reader) => value.read(reader),
  }
}

/** Declares a list. Numbers are written packed and read in both forms, as proto3 demands. */
export function repeated<T extends TypeName>(
  number: number,
  type: T,
): Field<readonly TypeIn<T>[], readonly TypeOut<T>[], false> {
  const value = resolve(type)
  const packed = value.wire !== WIRE.bytes
  const empty: TypeOut<T>[] = []
  Object.freeze(empty)
  return {
    number,
    optional: false,
    initial: empty,
    encode(writer, given) {
      if (given.length === 0) return
      if (packed) {
        writer.tag(number, WIRE.bytes)
        const mark = writer.begin()
        for (const item of given) value.write(writer, item)
        writer.end(mark)
        return
      }
      for (const item of given) {
        writer.tag(number, value.wire)
        value.write(writer, item)
      }
    },
    decode(reader, wire, previous) {
      // The list was created here by an earlier occurrence and nothing else refers to it yet, so it may grow.
      const items = previous === undefined || previous === empty ? [] : (previous as TypeOut<T>[])
      if (packed && wire === WIRE.bytes) {
        const outer = reader.enter()
        while (reader.more()) items.push(value.read(reader))
        reader.leave(outer)
      } else items.push(value.read(reader))
      return items
    },
  }
}

/** The encoding of a nested message without fields: only its length, 0. */
const NO_FIELDS = new Uint8Array([0])

/** Declares a map with string keys. The entries are written in the order of the object. */
export function map<T extends TypeName>(
  number: number,
  type: T,
): Field<Readonly<Record<string, TypeIn<T>>>, Readonly<Record<string, TypeOut<T>>>, false> {
  const value = resolve(type)
  const empty: Record<string, TypeOut<T>> = Object.freeze({})
  return {
    number,
    optional: false,
    initial: empty,
    encode(writer, given) {
      for (const key of Object.keys(given)) {
        const item = given[key]
        if (item === undefined) continue
        writer.tag(number, WIRE.bytes)
        const mark = writer.begin()
        writer.tag(1, WIRE.bytes)
        writer.string(key)
        writer.tag(2, value.wire)
        value.write(writer, item)
        writer.end(mark)
      }
    },
    decode(reader, _wire, previous) {
      const items = previous === undefined || previous === empty ? {} : (previous as Record<string, TypeOut<T>>)
      let key = ""
      let item = value.zero
      const outer = reader.enter()
      while (reader.more()) {
        const tag = reader.tag()
        if (tag >>> 3 === 1) key = reader.string()
        else if (tag >>> 3 === 2) item = value.read(reader)
        else reader.skip(tag & 7)
      }
      reader.leave(outer)
      // An entry without a value has the zero value; that of a message is an empty message.
      item ??= value.read(new Reader(NO_FIELDS))
      // defineProperty, since plain assignment of the key "__proto__" would set the prototype instead.
      Object.defineProperty(items, key, { value: item, enumerable: true, writable: true, configurable: true })
      return items
    },
  }
}

/** Declares an enum as a union of its names. A number that is not declared is read as the name of 0. */
export function enumeration<const E extends Readonly<Record<string, number>>>(
  names: E,
): ValueType<keyof E & string, keyof E & string> {
  const byNumber = new Map<number, keyof E & string>(Object.entries(names).map(([name, number]) => [number, name]))
  const zero = byNumber.get(0)
  if (zero === undefined) throw new Error("Cannot declare enum: expected a name with the number 0, as proto3 demands")
  return {
    wire: WIRE.varint,
    zero,
    isZero: (value) => value === zero,
    write: (writer, value) => writer.int32(names[value] ?? 0),
    read: (reader) => byNumber.get(reader.int32()) ?? zero,
  }
}

/** Declares a message from its rows. */
export function message<const F extends Fields>(fields: F): MessageType<F> {
  const rows = Object.entries(fields).map(([name, field]) => ({ name, field }))
  const byNumber: ({ name: string; field: Field<unknown, unknown, boolean> } | undefined)[] = []
  const initial: Record<string, unknown> = {}
  for (const row of rows) {
    if (byNumber[row.field.number] !== undefined)
      throw new Error(`Cannot declare message: ${row.name} has the number ${row.field.number} of another field`)
    byNumber[row.field.number] = row
    if (row.field.initial !== undefined) initial[row.name] = row.field.initial
  }

  const writeFields = (writer: Writer, value: Init<F>) => {
    for (const { name, field } of rows) {
      const given = value[name]
      if (given !== undefined) field.encode(writer, given)
    }
  }
  const readFields = (reader: Reader): Decoded<F> => {
    const result = { ...initial }
    while (reader.more()) {
      const tag = reader.tag()
      const row = byNumber[tag >>> 3]
      if (row === undefined) reader.skip(tag & 7)
      else result[row.name] = row.field.decode(reader, tag & 7, result[row.name])
    }
    return result as Decoded<F>
  }

  return {
    fields,
    wire: WIRE.bytes,
    zero: undefined,
    isZero: () => false,
    write(writer, value) {
      const mark = writer.begin()
      writeFields(writer, value)
      writer.end(mark)
    },
    read(reader) {
      const outer = reader.enter()
      const value = readFields(reader)
      reader.leave(outer)
      return value
    },
    encode(value) {
      const writer = new Writer()
      writeFields(writer, value)
      return writer.finish()
    },
    decode: (data) => readFields(new Reader(data)),
  }
}
