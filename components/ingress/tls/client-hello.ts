/** The result of reading the first bytes of a connection. */
export type Hello =
  | { readonly kind: "incomplete" }
  /** The bytes are not the beginning of a TLS connection, or break the protocol. */
  | { readonly kind: "malformed" }
  /** `name` is in lower case, without a dot at its end; empty when the client sends no server name. */
  | { readonly kind: "hello"; readonly name: string }

const INCOMPLETE: Hello = { kind: "incomplete" }
const MALFORMED: Hello = { kind: "malformed" }

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
const HOST_NAME = 0
/**
 * The largest ClientHello in bytes. The protocol allows more, but clients send some hundred bytes, and about 2,000 with
 * post-quantum keys.
 */
const LONGEST = 32 * 1024

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
  let gathered = 0
  for (let at = 0; ;) {
    if (at > LONGEST) return MALFORMED
    if (at < bytes.length && (bytes[at] !== HANDSHAKE || (at + 1 < bytes.length && bytes[at + 1] !== 3)))
      return MALFORMED
    if (at + 5 > bytes.length) return INCOMPLETE
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0) return MALFORMED
    const part = bytes.subarray(at + 5, at + 5 + length)
    parts.push(part)
    gathered += part.length
    const all = parts.length === 1 ? part : Buffer.concat(parts, gathered)
    if (all.length > 0 && all[0] !== CLIENT_HELLO) return MALFORMED
    if (all.length >= 4) {
      const wanted = 4 + all.readUIntBE(1, 3)
      if (wanted > LONGEST) return MALFORMED
      if (all.length >= wanted) return all.subarray(4, wanted)
    }
    if (part.length < length) return INCOMPLETE
    at += 5 + length
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
