/** Frames of WebSockets as a client reads and writes them. Source: RFC 6455, 5. */

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface WebSocketFrame {
  readonly opcode: number
  readonly isLast: boolean
  readonly payload: Buffer
}

/** The largest payload of a frame or a message from a server, in bytes. */
export const MOST_PAYLOAD = 32 * 1024 * 1024
/** Written where a length would stand: the length itself follows in two bytes, or in eight. */
const MEDIUM = 126
const LONG = 127
const LONGEST_MEDIUM = 0xffff

/** Reads frames of a server from pieces of any size. */
export class WebSocketFrameReader {
  #bytes: Buffer = Buffer.alloc(0);

  /** Yields the frames that are complete with these bytes. @throws Error for what is no frame of a server */
  *read(bytes: Uint8Array): Generator<WebSocketFrame, void, undefined> {
    this.#bytes = this.#bytes.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#bytes, bytes])
    for (;;) {
      const frame = this.#next()
      if (frame === undefined) return
      yield frame
    }
  }

  #next(): WebSocketFrame | undefined {
    const bytes = this.#bytes
    if (bytes.length < 2) return undefined
    const [first, second] = [bytes[0]!, bytes[1]!]
    if ((first & 0x70) !== 0 || (second & 0x80) !== 0) throw new Error("websocket: invalid frame")
    let length = second & 0x7f
    let from = 2
    if (length === MEDIUM) {
      if (bytes.length < 4) return undefined
      length = bytes.readUInt16BE(2)
      from = 4
    } else if (length === LONG) {
      if (bytes.length < 10) return undefined
      length = Number(bytes.readBigUInt64BE(2))
      from = 10
    }
    if (length > MOST_PAYLOAD) throw new Error("websocket: read limit exceeded")
    if (bytes.length < from + length) return undefined
    this.#bytes = bytes.subarray(from + length)
    return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload: bytes.subarray(from, from + length) }
  }
}

/** Returns a whole message as one frame of a client. `mask` is four bytes that nobody can foretell. */
export function clientFrame(opcode: number, payload: Uint8Array, mask: Uint8Array): Buffer {
  const { length } = payload
  const headLength = length < MEDIUM ? 2 : length <= LONGEST_MEDIUM ? 4 : 10
  const frame = Buffer.allocUnsafe(headLength + 4 + length)
  frame[0] = 0x80 | opcode
  if (headLength === 2) frame[1] = 0x80 | length
  else if (headLength === 4) {
    frame[1] = 0x80 | MEDIUM
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 0x80 | LONG
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  frame.set(mask, headLength)
  const from = headLength + 4
  for (let at = 0; at < length; at++) frame[from + at] = payload[at]! ^ mask[at & 3]!
  return frame
}
