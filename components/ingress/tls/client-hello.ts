/** The result of reading the first bytes of a connection. */
export type Hello =
  /** `needed` is the length from which on more can be read: with fewer bytes the result stays the same. */
  | { readonly kind: "incomplete"; readonly needed: number }
  /** The bytes are not the beginning of a TLS connection, or break the protocol. */
  | { readonly kind: "malformed" }
  /** `name` is in lower case, without a dot at its end; empty when the client sends no server name. */
  | { readonly kind: "hello"; readonly name: string }

const MALFORMED: Hello = { kind: "malformed" }

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
const HOST_NAME = 0
/** The type of the message and its length. */
const MESSAGE_HEADER = 4
const RECORD_HEADER = 5
/**
 * The largest ClientHello in bytes. The protocol allows more, but clients send some hundred bytes, and about 2,000 with
 * post-quantum keys.
 */
const LONGEST = 32 * 1024
/**
 * The most records of a ClientHello. The protocol allows records of one byte, but each costs work before anybody has
 * proved anything. Clients send one record, or a few small ones against filters that read names.
 */
const MOST_RECORDS = 64

/**
 * Reads the server name (SNI) from the first bytes of a TLS connection. Source: RFC 8446, 4.1.2 and 5.1; RFC 6066, 3.
 */
export function readClientHello(bytes: Buffer): Hello {
  const message = handshakeOf(bytes)
  return "kind" in message ? message : helloOf(message)
}

/** Returns the body of the ClientHello, which may be split over several records. */
function handshakeOf(bytes: Buffer): Buffer | Hello {
  const parts: Buffer[] = []
  const header = Buffer.alloc(MESSAGE_HEADER)
  let gathered = 0
  for (let at = 0; ;) {
    if (parts.length === MOST_RECORDS || at > LONGEST) return MALFORMED
    if (at < bytes.length && (bytes[at] !== HANDSHAKE || (at + 1 < bytes.length && bytes[at + 1] !== 3)))
      return MALFORMED
    if (at + RECORD_HEADER > bytes.length) return { kind: "incomplete", needed: at + RECORD_HEADER }
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0) return MALFORMED
    const part = bytes.subarray(at + RECORD_HEADER, at + RECORD_HEADER + length)
    if (gathered < MESSAGE_HEADER) part.copy(header, gathered)
    parts.push(part)
    gathered += part.length
    if (gathered > 0 && header[0] !== CLIENT_HELLO) return MALFORMED
    let wanted = MESSAGE_HEADER
    if (gathered >= MESSAGE_HEADER) {
      wanted += header.readUIntBE(1, 3)
      if (wanted > LONGEST) return MALFORMED
      if (gathered >= wanted) return Buffer.concat(parts, gathered).subarray(MESSAGE_HEADER, wanted)
    }
    if (part.length < length)
      return { kind: "incomplete", needed: bytes.length + Math.min(length - part.length, wanted - gathered) }
    at += RECORD_HEADER + length
  }
}

function helloOf(message: Buffer): Hello {
  const reader = new Reader(message)
  reader.skip(2 + 32) // version and random
  reader.vector(1) // session
  reader.vector(2) // cipher suites
  reader.vector(1) // compression
  if (reader.isAtEnd) return { kind: "hello", name: "" }
  const extensions = new Reader(reader.vector(2))
  if (reader.failed) return MALFORMED
  while (!extensions.isAtEnd) {
    const type = extensions.number(2)
    const data = extensions.vector(2)
    if (extensions.failed) return MALFORMED
    if (type === SERVER_NAME) return nameOf(data)
  }
  return { kind: "hello", name: "" }
}

function nameOf(extension: Buffer): Hello {
  const list = new Reader(new Reader(extension).vector(2))
  const type = list.number(1)
  const name = list.vector(2).toString("latin1").toLowerCase()
  if (list.failed || type !== HOST_NAME || !/^[\w.-]{1,255}$/.test(name)) return MALFORMED
  return { kind: "hello", name: name.endsWith(".") ? name.slice(0, -1) : name }
}

/** Reads numbers and vectors in sequence. A read beyond the end gives zero or no bytes, and sets `failed` for good. */
class Reader {
  readonly #bytes: Buffer
  #at = 0
  failed = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  skip(count: number): void {
    if (this.#at + count > this.#bytes.length) this.failed = true
    this.#at += count
  }

  number(size: 1 | 2): number {
    const start = this.#at
    this.skip(size)
    return this.failed ? 0 : this.#bytes.readUIntBE(start, size)
  }

  /** Reads a length of `size` bytes, and that many bytes after it. */
  vector(size: 1 | 2): Buffer {
    const length = this.number(size)
    const start = this.#at
    this.skip(length)
    return this.failed ? Buffer.alloc(0) : this.#bytes.subarray(start, start + length)
  }
}
