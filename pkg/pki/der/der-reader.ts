import { TAG } from "./der.ts"

/** One value that was read: `raw` is all of it, `content` what follows its length. */
export interface DerItem {
  readonly tag: number
  readonly content: Buffer
  readonly raw: Buffer
}

/**
 * Reads DER of an untrusted sender, value by value. Accepts only DER (ITU-T X.690, 10.1): lengths in their shortest
 * form, no indefinite ones, no tag numbers above 30. Throws DerError for anything else, and when a value does not have
 * the expected type.
 */
export class DerReader {
  readonly #bytes: Buffer
  #at = 0
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }
  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }
  /** The tag of the next value; undefined at the end. */
  get nextTag(): number | undefined {
    return this.#bytes[this.#at]
  }
  /** Reads the next value. With `tag` it must have this tag. */
  take(tag?: number): DerItem {
    const start = this.#at
    const found = this.#octet()
    if ((found & 0x1f) === 0x1f) throw new DerError("tag number is too large")
    if (tag !== undefined && found !== tag) throw new DerError(`unexpected tag ${found}, expected ${tag}`)
    const length = this.#length()
    const from = this.#at
    if (length > this.#bytes.length - from) throw new DerError("value ends after the data")
    this.#at = from + length
    return {
      tag: found,
      content: this.#bytes.subarray(from, this.#at),
      raw: this.#bytes.subarray(start, this.#at),
    }
  }
  /** Returns a reader of the content of the next value. */
  inside(tag: number = TAG.sequence): DerReader {
    return new DerReader(this.take(tag).content)
  }
  /** Throws when any bytes are left. */
  end(): void {
    if (!this.isAtEnd) throw new DerError("trailing data")
  }
  /** Reads an object identifier and returns its dotted form. */
  oid(): string {
    const { content } = this.take(TAG.oid)
    if (content.length === 0 || content.length > LONGEST_OID) throw new DerError("invalid object identifier")
    const arcs: number[] = []
    let arc = 0
    for (const [i, octet] of content.entries()) {
      if (octet === 0x80 && (i === 0 || (content[i - 1]! & 0x80) === 0)) throw new DerError("invalid object identifier")
      arc = arc * 128 + (octet & 0x7f)
      if (arc > Number.MAX_SAFE_INTEGER / 128) throw new DerError("invalid object identifier")
      if ((octet & 0x80) !== 0) continue
      arcs.push(arc)
      arc = 0
    }
    if ((content.at(-1)! & 0x80) !== 0) throw new DerError("invalid object identifier")
    const [first = 0, ...rest] = arcs
    const top = Math.min(2, Math.floor(first / 40))
    return [top, first - 40 * top, ...rest].join(".")
  }
  /** Reads a BIT STRING of whole bytes and returns the bytes. */
  wholeBits(): Buffer {
    const { content } = this.take(TAG.bitString)
    if (content[0] !== 0) throw new DerError("invalid bit string")
    return content.subarray(1)
  }

  #octet(): number {
    const octet = this.#bytes[this.#at++]
    if (octet === undefined) throw new DerError("truncated data")
    return octet
  }
  #length(): number {
    const first = this.#octet()
    if (first < 0x80) return first
    const octets = first & 0x7f
    if (octets === 0 || octets > 4) throw new DerError("invalid length")
    let length = 0
    for (let i = 0; i < octets; i++) length = length * 256 + this.#octet()
    if (length < 0x80 || length < 256 ** (octets - 1)) throw new DerError("length is not in its shortest form")
    return length
  }
}

const LONGEST_OID = 64

/** The bytes are not DER, or do not have the expected structure. */
export class DerError extends Error {
  override readonly name = "DerError"
}
