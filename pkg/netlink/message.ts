/**
 * Messages to the kernel over netlink sockets. All numbers are in the byte order of the machine, which is little-endian
 * on every platform of k3ts. Source: netlink(7), linux/netlink.h.
 */

/** Flags of a request. */
export const REQUEST = 0x1
export const ACK = 0x4
export const DUMP = 0x300
export const REPLACE = 0x100
export const EXCL = 0x200
export const CREATE = 0x400
/** Flag of the type of an attribute that contains attributes. */
const NESTED = 0x8000

const HEADER = 16
const aligned = (length: number): number => (length + 3) & ~3

/** Returns an attribute: bytes unchanged, a text with a zero byte at its end, a number as 32 bits. */
export function attribute(type: number, value: Uint8Array | string | number): Buffer {
  const bytes =
    typeof value === "number" ? uint32(value) : typeof value === "string" ? Buffer.from(`${value}\0`) : value
  const made = Buffer.alloc(aligned(4 + bytes.length))
  made.writeUInt16LE(4 + bytes.length, 0)
  made.writeUInt16LE(type, 2)
  made.set(bytes, 4)
  return made
}

export const nested = (type: number, ...attributes: readonly Uint8Array[]): Buffer =>
  attribute(type | NESTED, Buffer.concat(attributes))

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

/** Returns a message of one type. `parts` are the header of its family, then attributes. */
export function message(type: number, flags: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const made = Buffer.alloc(aligned(HEADER + body.length))
  made.writeUInt32LE(HEADER + body.length, 0)
  made.writeUInt16LE(type, 4)
  made.writeUInt16LE(flags, 6)
  made.set(body, HEADER)
  return made
}

/** Returns whether a message requests an acknowledgement. */
export const wantsAck = (message: Buffer): boolean => (message.readUInt16LE(6) & ACK) !== 0

/** Returns a message with its sequence number, and without the request of an acknowledgement unless `keepsAck`. */
export function numberedAs(sequence: number, message: Buffer, keepsAck: boolean): Buffer {
  const copy = Buffer.from(message)
  if (!keepsAck) copy.writeUInt16LE(copy.readUInt16LE(6) & ~ACK, 6)
  copy.writeUInt32LE(sequence, 8)
  return copy
}

export interface Reply {
  readonly type: number
  /** The sequence number of the message that is answered. */
  readonly sequence: number
  /** The number of an error (`errno`); 0 for an acknowledgement; undefined in other messages. */
  readonly errno: number | undefined
  /** The bytes after the message's header. */
  readonly body: Buffer
}

/** The last reply to a request with DUMP. */
export const DONE = 3
const ERROR = 2

/** Returns the messages in one datagram of the kernel. */
export function repliesIn(datagram: Uint8Array): Reply[] {
  const bytes = Buffer.from(datagram.buffer, datagram.byteOffset, datagram.byteLength)
  const replies: Reply[] = []
  for (let at = 0; at + HEADER <= bytes.length;) {
    const length = bytes.readUInt32LE(at)
    if (length < HEADER || at + length > bytes.length) break
    const type = bytes.readUInt16LE(at + 4)
    const body = bytes.subarray(at + HEADER, at + length)
    const sequence = bytes.readUInt32LE(at + 8)
    replies.push({ type, sequence, errno: type === ERROR ? -body.readInt32LE(0) : undefined, body })
    at += aligned(length)
  }
  return replies
}

/** Returns attributes by type. They begin at `offset`, after the header of the family. */
export function attributesIn(body: Buffer, offset: number): Map<number, Buffer> {
  const found = new Map<number, Buffer>()
  for (let at = offset; at + 4 <= body.length;) {
    const length = body.readUInt16LE(at)
    if (length < 4 || at + length > body.length) break
    found.set(body.readUInt16LE(at + 2) & ~NESTED, body.subarray(at + 4, at + length))
    at += aligned(length)
  }
  return found
}
