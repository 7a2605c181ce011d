/** The bytes of the length before each message over TCP. Source: RFC 1035 4.2.2. */
const PREFIX = 2

/** Returns a message in the form for TCP: with its length before it. */
export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX + message.length)
  framed.writeUInt16BE(message.length, 0)
  message.copy(framed, PREFIX)
  return framed
}

/** Splits the bytes of one TCP connection into messages. */
export class Frames {
  #pending: Buffer = Buffer.alloc(0)

  /** Takes the bytes that have arrived; returns the messages that are complete now, in order. */
  take(bytes: Buffer): readonly Buffer[] {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    const messages: Buffer[] = []
    while (rest.length >= PREFIX && rest.length >= PREFIX + rest.readUInt16BE(0)) {
      const end = PREFIX + rest.readUInt16BE(0)
      messages.push(rest.subarray(PREFIX, end))
      rest = rest.subarray(end)
    }
    this.#pending = rest
    return messages
  }
}
