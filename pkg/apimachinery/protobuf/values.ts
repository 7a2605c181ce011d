import { Buffer } from "node:buffer"
import { WIRE, type Writer } from "../../protobuf/writer.ts"
import type { Reader } from "../../protobuf/reader.ts"
import { ExactNumber } from "../json/exact-number.ts"
import type { Scalar } from "../field-spec.ts"
import { RawJson } from "../json/raw-json.ts"
import { formatDuration, parseDuration } from "../scalars/time.ts"

/**
 * How one scalar type is encoded. Types that are structs in Go (times, quantities, IntOrString, raw JSON) are nested
 * messages. Source: the generated.proto files of apimachinery, and the hand-written marshallers beside them
 * (time_proto.go, micro_time_proto.go).
 */
export interface ScalarCodec {
  readonly wire: (typeof WIRE)[keyof typeof WIRE]
  write(writer: Writer, value: unknown): void
  /** Returns undefined for the zero of a struct, which JSON leaves out (a time that is not set). */
  read(reader: Reader): unknown
  /** Whether the value is the zero of its Go type, which Go writes for every field that is not a pointer. */
  isZero(value: unknown): boolean
}

const varint = (write: (writer: Writer, value: number) => void, read: (reader: Reader) => number): ScalarCodec => ({
  wire: WIRE.varint,
  write: (writer, value) => write(writer, value as number),
  read,
  isZero: (value) => value === 0,
})
/**
 * Makes the codec of a nested message; `read` is called for each field. The value is zero only when `read` returned
 * undefined.
 */
export const nested = (
  write: (writer: Writer, value: unknown) => void,
  read: (reader: Reader) => unknown,
): ScalarCodec => ({
  wire: WIRE.bytes,
  write(writer, value) {
    const mark = writer.begin()
    write(writer, value)
    writer.end(mark)
  },
  read(reader) {
    const outer = reader.enter()
    const value = read(reader)
    reader.leave(outer)
    return value
  },
  isZero: (value) => value === undefined,
})

/** Seconds and nanoseconds; both are written even when zero, since an empty message means that no time is set. */
const timestamp = (digits: 0 | 6): ScalarCodec =>
  nested(
    (writer, value) => {
      if (value === null) return
      const text = value as string
      const fraction = /\.(\d+)/.exec(text)?.[1] ?? ""
      writer.tag(1, WIRE.varint)
      writer.int64(Math.floor(Date.parse(text.replace(/\.\d+/, "")) / 1000))
      writer.tag(2, WIRE.varint)
      writer.int32(digits === 0 ? 0 : Number(fraction.slice(0, digits).padEnd(9, "0")))
    },
    (reader) => {
      let seconds: number | undefined
      let nanos = 0
      while (reader.more()) {
        const tag = reader.tag()
        if (tag === field(1, WIRE.varint)) seconds = reader.int64()
        else if (tag === field(2, WIRE.varint)) {
          nanos = reader.int32()
          seconds ??= 0
        } else reader.skip(tag & 7)
      }
      if (seconds === undefined) return undefined
      const whole = new Date(seconds * 1000)
      if (Number.isNaN(whole.getTime())) return undefined
      const text = whole.toISOString().slice(0, 19)
      return digits === 0 ? `${text}Z` : `${text}.${String(Math.floor(nanos / 1000)).padStart(6, "0")}Z`
    },
  )

const field = (number: number, wire: number): number => (number << 3) | wire

/** JSON text as the bytes of field 1. */
const rawJson: ScalarCodec = nested(
  (writer, value) => {
    writer.tag(1, WIRE.bytes)
    writer.string(JSON.stringify(value))
  },
  (reader) => {
    const text = fieldText(reader)
    return text === "" ? undefined : (JSON.parse(text) as unknown)
  },
)

/** Reads the string in field 1 of the open message. */
function fieldText(reader: Reader): string {
  let text = ""
  while (reader.more()) {
    const tag = reader.tag()
    if (tag === field(1, WIRE.bytes)) text = reader.string()
    else reader.skip(tag & 7)
  }
  return text
}

export const SCALAR_CODECS: Record<Scalar, ScalarCodec> = {
  string: {
    wire: WIRE.bytes,
    write: (writer, value) => writer.string(value as string),
    read: (reader) => reader.string(),
    isZero: (value) => value === "",
  },
  bool: {
    wire: WIRE.varint,
    write: (writer, value) => writer.bool(value as boolean),
    read: (reader) => reader.bool(),
    isZero: (value) => value === false,
  },
  int32: varint(
    (writer, value) => writer.int32(value),
    (reader) => reader.int32(),
  ),
  int64: {
    wire: WIRE.varint,
    write: (writer, value) => writer.int64(value as number),
    read(reader) {
      const value = reader.int64Wide()
      return typeof value === "bigint" ? new ExactNumber(String(value)) : value
    },
    isZero: (value) => value === 0,
  },
  double: {
    wire: WIRE.fixed64,
    write: (writer, value) => writer.double(value as number),
    read: (reader) => reader.double(),
    isZero: (value) => value === 0,
  },
  bytes: {
    wire: WIRE.bytes,
    write: (writer, value) => writer.base64(value as string),
    read: (reader) => Buffer.from(reader.bytes()).toString("base64"),
    isZero: (value) => value === "",
  },
  quantity: nested(
    (writer, value) => {
      writer.tag(1, WIRE.bytes)
      writer.string(value as string)
    },
    (reader) => fieldText(reader) || "0",
  ),
  // All three fields are always written, as Go does; `type` is 0 for a number and 1 for a string.
  intOrString: nested(
    (writer, value) => {
      const number = typeof value === "number"
      writer.tag(1, WIRE.varint)
      writer.uint32(number ? 0 : 1)
      writer.tag(2, WIRE.varint)
      writer.int32(number ? value : 0)
      writer.tag(3, WIRE.bytes)
      writer.string(number ? "" : (value as string))
    },
    (reader) => {
      let [type, number, text] = [0, 0, ""]
      while (reader.more()) {
        const tag = reader.tag()
        if (tag === field(1, WIRE.varint)) type = reader.int32()
        else if (tag === field(2, WIRE.varint)) number = reader.int32()
        else if (tag === field(3, WIRE.bytes)) text = reader.string()
        else reader.skip(tag & 7)
      }
      return type === 1 ? text : number
    },
  ),
  time: timestamp(0),
  microTime: timestamp(6),
  duration: nested(
    (writer, value) => {
      writer.tag(1, WIRE.varint)
      writer.int64(BigInt(Math.round((parseDuration(value as string) ?? 0) * 1e6)))
    },
    (reader) => {
      let nanoseconds = 0
      while (reader.more()) {
        const tag = reader.tag()
        if (tag === field(1, WIRE.varint)) nanoseconds = reader.int64()
        else reader.skip(tag & 7)
      }
      return formatDuration(nanoseconds / 1e6)
    },
  ),
  json: rawJson,
  rawExtension: nested(
    (writer, value) => {
      writer.tag(1, WIRE.bytes)
      writer.string((value as RawJson).text)
    },
    (reader) => {
      const text = fieldText(reader)
      return text === "" ? undefined : RawJson.from(text)
    },
  ),
  fieldsV1: rawJson,
}
