import type { Reader } from "../../protobuf/reader.ts"
import { WIRE, type Writer } from "../../protobuf/writer.ts"
import type { FieldSpec, Type, Message } from "../field-spec.ts"
import { Field } from "../fields.ts"
import { nested, SCALAR_CODECS, type ScalarCodec } from "./values.ts"

/**
 * Encodes and decodes messages as protobuf, by the numbers of their fields. Decoding returns plain JSON, as a client
 * would send it: `decodeObject` sets defaults and checks values later, for all wire formats alike. Each message is
 * compiled at its first use.
 */
export interface MessageCodec {
  write(writer: Writer, value: object): void
  /** Reads to the end of the open part. @throws ProtobufError */
  read(reader: Reader): Record<string, unknown>
}

const compiled = new WeakMap<Message, MessageCodec>()

export function codecOf(message: Message): MessageCodec {
  const known = compiled.get(message)
  if (known !== undefined) return known
  const made = compile(message)
  compiled.set(message, made)
  return made
}

interface FieldCodec {
  /** The property from which the field is written; undefined when it is written from the whole value. */
  readonly name: string | undefined
  write(writer: Writer, value: unknown): void
  read(reader: Reader, wire: number, target: Record<string, unknown>): void
}

function compile(message: Message): MessageCodec {
  // Filled at first use, since a message may contain itself.
  let fields: readonly FieldCodec[] | undefined
  const byNumber = new Map<number, FieldCodec>()
  const prepare = (): readonly FieldCodec[] => {
    const specs = Object.entries(message.fields)
      .filter(([, { spec }]) => spec.number > 0)
      .sort(([, a], [, b]) => a.spec.number - b.spec.number)
    const direct = specs
      .filter(([, { spec }]) => spec.embeddedIn === undefined)
      .map(([name, { spec }]) => ({ number: spec.number, codec: compileField(name, spec) }))
    const embedded = [...new Set(specs.map(([, { spec }]) => spec.embeddedIn?.[0]))].flatMap((number) =>
      number === undefined ? [] : [{ number, codec: embeddedFields(message, number) }],
    )
    const all = [...direct, ...embedded].sort((a, b) => a.number - b.number)
    for (const { number, codec } of all) byNumber.set(number, codec)
    return (fields = all.map(({ codec }) => codec))
  }
  return {
    write(writer, value) {
      const values = value as Readonly<Record<string, unknown>>
      for (const field of fields ?? prepare()) {
        const given = field.name === undefined ? values : values[field.name]
        if (given !== undefined && given !== null) field.write(writer, given)
      }
    },
    read(reader) {
      if (fields === undefined) prepare()
      const target: Record<string, unknown> = {}
      while (reader.more()) {
        const tag = reader.tag()
        const field = byNumber.get(tag >>> 3)
        if (field === undefined) reader.skip(tag & 7)
        else field.read(reader, tag & 7, target)
      }
      return target
    },
  }
}

/**
 * Returns the codec of the fields of an embedded Go struct: in protobuf they are a message in field `number`, in JSON
 * they are among the other fields.
 */
function embeddedFields(message: Message, number: number): FieldCodec {
  const inner = compile({
    ...message,
    fields: Object.fromEntries(
      Object.entries(message.fields)
        .filter(([, { spec }]) => spec.embeddedIn?.[0] === number)
        .map(([name, field]) => {
          const { embeddedIn: [, ...further] = [], ...spec } = field.spec
          return [name, new Field({ ...spec, ...(further.length === 0 ? {} : { embeddedIn: further }) })]
        }),
    ),
  })
  return {
    name: undefined,
    write(writer, value) {
      writer.tag(number, WIRE.bytes)
      const mark = writer.begin()
      inner.write(writer, value as object)
      writer.end(mark)
    },
    read(reader, wire, target) {
      if (wire !== WIRE.bytes) return reader.skip(wire)
      const outer = reader.enter()
      Object.assign(target, inner.read(reader))
      reader.leave(outer)
    },
  }
}

function compileField(name: string, spec: FieldSpec): FieldCodec {
  const { number, type } = spec
  if (type.kind === "list") return listField(name, number, elementOf(type.of))
  if (type.kind === "map") return mapField(name, number, elementOf(type.of))
  const element = elementOf(type)
  const keepZero = spec.pointer === true || spec.printZero === true
  return {
    name,
    write(writer, value) {
      writer.tag(number, element.wire)
      element.write(writer, value)
    },
    read(reader, wire, target) {
      if (wire !== element.wire) return reader.skip(wire)
      const value = element.read(reader)
      if (value !== undefined && (keepZero || !element.isZero(value))) target[name] = value
    },
  }
}

/**
 * Returns the codec of a list. Scalars are written one by one, since these files are proto2, which does not pack them.
 * Both forms are read.
 */
function listField(name: string, number: number, element: ScalarCodec): FieldCodec {
  return {
    name,
    write(writer, value) {
      for (const item of value as readonly unknown[]) {
        writer.tag(number, element.wire)
        element.write(writer, item)
      }
    },
    read(reader, wire, target) {
      // The list was created here by an earlier occurrence, so it may grow.
      const items = (target[name] ??= []) as unknown[]
      if (wire === element.wire) items.push(element.read(reader) ?? null)
      else if (wire === WIRE.bytes) {
        const outer = reader.enter()
        while (reader.more()) items.push(element.read(reader))
        reader.leave(outer)
      } else reader.skip(wire)
    },
  }
}

/** Returns the codec of a map. Entries are written in the order of their keys, as Go writes them. */
function mapField(name: string, number: number, element: ScalarCodec): FieldCodec {
  return {
    name,
    write(writer, value) {
      const entries = value as Readonly<Record<string, unknown>>
      for (const key of Object.keys(entries).sort()) {
        writer.tag(number, WIRE.bytes)
        const mark = writer.begin()
        writer.tag(1, WIRE.bytes)
        writer.string(key)
        writer.tag(2, element.wire)
        element.write(writer, entries[key])
        writer.end(mark)
      }
    },
    read(reader, wire, target) {
      if (wire !== WIRE.bytes) return reader.skip(wire)
      const entries = (target[name] ??= {}) as Record<string, unknown>
      const outer = reader.enter()
      let key = ""
      let value: unknown = null
      while (reader.more()) {
        const tag = reader.tag()
        if (tag >>> 3 === 1) key = reader.string()
        else if (tag === ((2 << 3) | element.wire)) value = element.read(reader) ?? null
        else reader.skip(tag & 7)
      }
      reader.leave(outer)
      // defineProperty, since an assignment to the key "__proto__" would set the prototype instead.
      Object.defineProperty(entries, key, { value, enumerable: true, writable: true, configurable: true })
    },
  }
}

/**
 * Returns the codec of a Go type that is an object or something else: see `MessageRules.ownJson`. Lists have their
 * items in field 2.
 */
function ownJsonCodec(inner: () => MessageCodec, { number, items }: OwnJson): ScalarCodec {
  const list =
    items === undefined
      ? undefined
      : listField("items", 2, items === "text" ? elementOf({ kind: "string" }) : nestedIn(inner))
  return nested(
    (writer, value) => {
      if (Array.isArray(value)) return list?.write(writer, value)
      if (number === 2) {
        writer.tag(1, WIRE.varint)
        writer.bool(value !== false)
      }
      if (typeof value !== "object") return
      writer.tag(number, WIRE.bytes)
      const mark = writer.begin()
      inner().write(writer, value as object)
      writer.end(mark)
    },
    (reader) => {
      let value: unknown = number === 2 ? false : {}
      const several: Record<string, unknown> = { items: [] }
      while (reader.more()) {
        const tag = reader.tag()
        if (list !== undefined && tag >>> 3 === 2) {
          list.read(reader, tag & 7, several)
          value = several["items"]
        } else if (tag === ((number << 3) | WIRE.bytes)) {
          const outer = reader.enter()
          value = inner().read(reader)
          reader.leave(outer)
        } else if (number === 2 && tag === ((1 << 3) | WIRE.varint)) {
          const allows = reader.bool()
          if (typeof value !== "object") value = allows
        } else reader.skip(tag & 7)
      }
      return value
    },
  )
}

type OwnJson = NonNullable<Message["rules"]["ownJson"]>

const nestedIn = (inner: () => MessageCodec): ScalarCodec =>
  nested(
    (writer, value) => inner().write(writer, value as object),
    (reader) => inner().read(reader),
  )

function elementOf(type: Type): ScalarCodec {
  switch (type.kind) {
    case "message": {
      let codec: MessageCodec | undefined
      const inner = (): MessageCodec => (codec ??= codecOf(type.message()))
      const { ownJson } = type.message().rules
      return ownJson === undefined ? nestedIn(inner) : ownJsonCodec(inner, ownJson)
    }
    // A list inside a list or map is a message with the items in field 1 (rbac and authentication ExtraValue).
    case "list": {
      const items = listField("items", 1, elementOf(type.of))
      return nested(
        (writer, value) => items.write(writer, value),
        (reader) => {
          const target: Record<string, unknown> = { items: [] }
          while (reader.more()) {
            const tag = reader.tag()
            if (tag >>> 3 === 1) items.read(reader, tag & 7, target)
            else reader.skip(tag & 7)
          }
          return target["items"]
        },
      )
    }
    case "map":
      throw new TypeError("Cannot make a protobuf codec: a map inside a list or a map has no wire form")
    default:
      return SCALAR_CODECS[type.kind]
  }
}
