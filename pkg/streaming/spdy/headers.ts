/**
 * SPDY/3 header blocks: a count, then names and values, each preceded by its length (spdy-protocol-draft3-1, 2.6.10).
 */
import { HEADER_DICTIONARY_ID } from "./dictionary.ts"
import { HeaderInflater, InflateError } from "./inflate.ts"

/** Headers with names in lower case, as SPDY demands. Several values of one name are separated by NUL. */
export type SpdyHeaders = Readonly<Record<string, string>>

/**
 * Encodes headers as blocks of one zlib stream. The blocks are stored, not compressed: every decoder accepts that, and
 * the few short headers of a stream would gain nothing. So the only state is whether the stream has begun.
 */
export class HeaderWriter {
  #started = false

  write(headers: SpdyHeaders): Buffer {
    const entries = Object.entries(headers)
    const parts: Buffer[] = [uint32(entries.length)]
    for (const [name, value] of entries) {
      for (const text of [Buffer.from(name.toLowerCase()), Buffer.from(value)]) parts.push(uint32(text.length), text)
    }
    const plain = Buffer.concat(parts)
    const out: Buffer[] = this.#started ? [] : [Buffer.from([0x78, 0xbb]), uint32(HEADER_DICTIONARY_ID)]
    this.#started = true
    for (let at = 0; at < plain.length; at += 0xffff) out.push(stored(plain.subarray(at, at + 0xffff)))
    // An empty stored block, as at the end of a sync flush: some decoders wait for it.
    out.push(stored(Buffer.alloc(0)))
    return Buffer.concat(out)
  }
}

export class HeaderReader {
  readonly #inflater = new HeaderInflater()

  /** @throws InflateError or RangeError when the block is damaged */
  read(block: Buffer): SpdyHeaders {
    const plain = this.#inflater.next(block)
    const headers: Record<string, string> = {}
    let at = 0
    const text = () => {
      const length = plain.readUInt32BE(at)
      if (at + 4 + length > plain.length) throw new InflateError("header block is shorter than its fields")
      at += 4 + length
      return plain.toString("utf8", at - length, at)
    }
    const count = plain.readUInt32BE(0)
    at = 4
    for (let i = 0; i < count; i++) {
      const name = text().toLowerCase()
      headers[name] = text()
    }
    return headers
  }
}

function stored(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt16LE(bytes.length, 1)
  head.writeUInt16LE(bytes.length ^ 0xffff, 3)
  return Buffer.concat([head, bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
