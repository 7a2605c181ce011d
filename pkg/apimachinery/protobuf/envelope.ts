import { Buffer } from "node:buffer"
import { Reader } from "../../protobuf/reader.ts"
import { WIRE, Writer } from "../../protobuf/writer.ts"
import { f, message } from "../fields.ts"
import type { Message } from "../field-spec.ts"
import { ListMeta } from "../meta.ts"
import { codecOf } from "./codec.ts"

/**
 * `application/vnd.kubernetes.protobuf`: four magic bytes, then a runtime.Unknown with version, kind and the bytes of
 * the message. Source: apimachinery pkg/runtime/serializer/protobuf/protobuf.go and pkg/runtime/generated.proto.
 */
const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00)

export interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  /** The message without its envelope. */
  readonly raw: Uint8Array
  /** Set when `raw` has another format, for example JSON. */
  readonly contentType: string
}

export const isEnvelope = (bytes: Uint8Array): boolean => MAGIC.every((byte, i) => bytes[i] === byte)

/** @throws ProtobufError; TypeError when the magic bytes are missing (check with `isEnvelope` first) */
export function openEnvelope(bytes: Uint8Array): Envelope {
  if (!isEnvelope(bytes))
    throw new TypeError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
  let [apiVersion, kind, contentType] = ["", "", ""]
  let raw: Uint8Array = new Uint8Array(0)
  const reader = new Reader(bytes.subarray(MAGIC.length))
  while (reader.more()) {
    const tag = reader.tag()
    if (tag === 0x0a) {
      const outer = reader.enter()
      while (reader.more()) {
        const inner = reader.tag()
        if (inner === 0x0a) apiVersion = reader.string()
        else if (inner === 0x12) kind = reader.string()
        else reader.skip(inner & 7)
      }
      reader.leave(outer)
    } else if (tag === 0x12) raw = reader.bytes()
    else if (tag === 0x22) contentType = reader.string()
    else reader.skip(tag & 7)
  }
  return { apiVersion, kind, raw, contentType }
}

/**
 * Decodes the bytes of a message as plain JSON, without `apiVersion` and `kind`. @throws ProtobufError, SyntaxError for
 * invalid JSON in a raw extension
 */
export const decodeProtobuf = (message: Message, raw: Uint8Array): Record<string, unknown> =>
  codecOf(message).read(new Reader(raw))

/** Encodes the value of a message, without envelope. */
export function encodeRaw(message: Message, value: object): Uint8Array {
  const writer = new Writer(1024)
  codecOf(message).write(writer, value)
  return writer.finish()
}

/** Encodes an object, or any value of a message, in its envelope. */
export const encodeProtobuf = (
  message: Message,
  value: object,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): Uint8Array => envelope(apiVersion, kind, (writer) => codecOf(message).write(writer, value))

/** Returns the message of a kind's list, for decoding. */
export const listMessage = (schema: Message): Message =>
  message(`${schema.name}List`, "", {
    metadata: f.message(1, ListMeta, ""),
    items: f.listRecursive<unknown>(2, () => schema, ""),
  })

/**
 * Encodes one frame of a protobuf watch: four bytes of length, then a WatchEvent without envelope whose object has one.
 * `object` comes from `encodeProtobuf`. Source: apimachinery pkg/util/framer and pkg/apis/meta/v1/watch.go.
 */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const writer = new Writer(object.length + 64)
  writer.tag(1, WIRE.bytes)
  writer.string(type)
  writer.tag(2, WIRE.bytes)
  const mark = writer.begin()
  writer.tag(1, WIRE.bytes)
  writer.bytes(object)
  writer.end(mark)
  const body = writer.finish()
  const frame = Buffer.allocUnsafe(4 + body.length)
  frame.writeUInt32BE(body.length, 0)
  frame.set(body, 4)
  return frame
}

function envelope(apiVersion: string, kind: string, write: (writer: Writer) => void): Uint8Array {
  const { writer, end } = beginEnvelope(apiVersion, kind)
  write(writer)
  return end()
}

/** Returns where the message is to be written, and what ends the envelope and returns its bytes. */
export function beginEnvelope(apiVersion: string, kind: string): { readonly writer: Writer; end(): Uint8Array } {
  const writer = new Writer(4096)
  writeHead(writer, apiVersion, kind)
  const raw = writer.begin()
  return {
    writer,
    end() {
      writer.end(raw)
      writeTail(writer)
      return writer.finish()
    },
  }
}

/** Writes all that stands before the length of the message. */
export function writeHead(writer: Writer, apiVersion: string, kind: string): void {
  writer.raw(MAGIC)
  writer.tag(1, WIRE.bytes)
  const type = writer.begin()
  writer.tag(1, WIRE.bytes)
  writer.string(apiVersion)
  writer.tag(2, WIRE.bytes)
  writer.string(kind)
  writer.end(type)
  writer.tag(2, WIRE.bytes)
}

/** Writes contentEncoding and contentType, which Go writes even when they are empty. */
export function writeTail(writer: Writer): void {
  writer.tag(3, WIRE.bytes)
  writer.string("")
  writer.tag(4, WIRE.bytes)
  writer.string("")
}
