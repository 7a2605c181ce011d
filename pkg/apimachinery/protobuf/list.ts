import { WIRE, Writer } from "../../protobuf/writer.ts"
import type { Message } from "../field-spec.ts"
import { ListMeta } from "../meta.ts"
import { codecOf } from "./codec.ts"
import { beginEnvelope, writeHead, writeTail } from "./envelope.ts"

/** The items of a list that are encoded with each step: some milliseconds of work. */
const ITEMS_OF_STEP = 100
/** Most bytes of a list that is made whole. A larger one is encoded twice: first to know its length. */
const MOST_WHOLE_BYTES = 4 * 1024 * 1024
const BYTES_OF_PIECE = 256 * 1024

/** The kind of a list's items. */
interface KindOfItems {
  readonly schema: Message
  readonly apiVersion: string
  readonly kind: string
}

/**
 * Encodes a list of a kind (`PodList`) in its envelope, some items with each step, so that the caller can do something
 * else in between. A step yields the next bytes of the list, or undefined while there are none yet: so a client that
 * does not read costs a piece, and at most 4 MiB. Returns the last bytes. `items` may be gone through twice.
 */
export function* encodingProtobufList(
  { schema, apiVersion, kind }: KindOfItems,
  metadata: object,
  items: Iterable<object>,
): Generator<Uint8Array | undefined, Uint8Array, undefined> {
  const codec = codecOf(schema)
  /** Writes one field of the list's message, and returns how many bytes it takes. */
  const write = (writer: Writer, field: number, value: object): number => {
    const before = writer.length
    writer.tag(field, WIRE.bytes)
    const mark = writer.begin()
    if (field === 1) codecOf(ListMeta).write(writer, value)
    else codec.write(writer, value)
    writer.end(mark)
    return writer.length - before
  }

  const whole = beginEnvelope(apiVersion, `${kind}List`)
  let { writer } = whole
  let bytes = write(writer, 1, metadata)
  let count = 0
  for (const item of items) {
    if (count++ === ITEMS_OF_STEP) {
      yield
      count = 1
    }
    // From MOST_WHOLE_BYTES on they are only measured.
    if (writer !== whole.writer) writer.reset()
    else if (bytes > MOST_WHOLE_BYTES) writer = new Writer(BYTES_OF_PIECE)
    bytes += write(writer, 2, item)
  }
  if (writer === whole.writer) return whole.end()

  writer = new Writer(BYTES_OF_PIECE)
  writeHead(writer, apiVersion, `${kind}List`)
  writer.uint32(bytes)
  write(writer, 1, metadata)
  count = 0
  for (const item of items) {
    if (count++ === ITEMS_OF_STEP || writer.length > BYTES_OF_PIECE) {
      yield writer.finish()
      writer = new Writer(BYTES_OF_PIECE)
      count = 1
    }
    write(writer, 2, item)
  }
  writeTail(writer)
  return writer.finish()
}
