import { Buffer } from "node:buffer"

/** The wire types, which are the low three bits of a field's tag. Source: protobuf.dev, "Encoding". */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const
export type WireType = (typeof WIRE)[keyof typeof WIRE]

const TWO_32 = 4294967296
const SIGN_64 = 0x8000000000000000n

/**
 * Appends proto3 wire data to a growing buffer. It does not know messages: the caller writes tags and values, and
 * leaves out the values that proto3 leaves out.
 * A nested message is written in place between `begin` and `end`: one byte is reserved for its length, and its content
 * is moved when the length needs more bytes. Most messages of Kubernetes are under 128 bytes, so usually nothing is
 * moved and no size is computed beforehand.
 */
export class Writer {
  #buf: Buffer
  #pos = 0

  constructor(initialBytes = 256) {
    this.#buf = Buffer.allocUnsafe(Math.max(16, initialBytes))
  }

  /** How many bytes are written so far. */
  get length(): number {
    return this.#pos
  }

  /** Discards what was written and keeps the buffer. Results of earlier `finish` calls stay as they were. */
  reset(): void {
    this.#pos = 0
  }

  /** Returns a copy of what was written. */
  finish(): Uint8Array {
    return new Uint8Array(this.#buf.subarray(0, this.#pos))
  }

  tag(field: number, wire: WireType): void {
    this.uint32(((field << 3) | wire) >>> 0)
  }

  uint32(value: number): void {
    this.#reserve(5)
    this.#varint32(value)
  }

  /** A negative int32 takes ten bytes: it is sign-extended to 64 bits. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value)
    else this.int64(value)
  }

  sint32(value: number): void {
    this.uint32(((value << 1) ^ (value >> 31)) >>> 0)
  }

  /** Numbers beyond ±2^53 are not exact; pass a bigint where every digit counts. */
  int64(value: number | bigint): void {
    if (typeof value === "bigint") {
      const bits = BigInt.asUintN(64, value)
      this.#varint64(Number(bits & 0xffffffffn), Number(bits >> 32n))
    } else if (value >= 0 && value < TWO_32) this.uint32(value)
    else if (value >= 0x8000000000000000) this.int64(SIGN_64 - 1n)
    else if (value < -0x8000000000000000) this.int64(SIGN_64)
    else this.#varint64(low32(value), Math.floor(value / TWO_32))
  }

  uint64(value: number | bigint): void {
    if (typeof value === "bigint") this.int64(value)
    else if (value < TWO_32) this.uint32(value)
    else if (value >= 0x10000000000000000) this.int64(0xffffffffffffffffn)
    else this.#varint64(low32(value), Math.floor(value / TWO_32))
  }

  sint64(value: number | bigint): void {
    const wide = BigInt(value)
    this.int64((wide << 1n) ^ (wide >> 63n))
  }

  bool(value: boolean): void {
    this.#reserve(1)
    this.#buf[this.#pos++] = value ? 1 : 0
  }

  fixed32(value: number): void {
    this.#reserve(4)
    this.#pos = this.#buf.writeUInt32LE(value >>> 0, this.#pos)
  }

  /** Also for sfixed64, which has the same eight bytes. */
  fixed64(value: number | bigint): void {
    this.#reserve(8)
    this.#pos = this.#buf.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), this.#pos)
  }

  float(value: number): void {
    this.#reserve(4)
    this.#pos = this.#buf.writeFloatLE(value, this.#pos)
  }

  double(value: number): void {
    this.#reserve(8)
    this.#pos = this.#buf.writeDoubleLE(value, this.#pos)
  }

  /** Length, then UTF-8. */
  string(value: string): void {
    const units = value.length
    // A UTF-16 unit takes at most three bytes of UTF-8; 42 * 3 < 128, so the length fits in one byte and can be written
    // afterwards.
    if (units <= 42) {
      this.#reserve(1 + units * 3)
      const start = this.#pos + 1
      let pos = start
      if (units <= 12) {
        for (let i = 0; i < units; i++) {
          const code = value.charCodeAt(i)
          if (code > 127) {
            pos = start + this.#buf.write(value, start)
            break
          }
          this.#buf[pos++] = code
        }
      } else pos += this.#buf.write(value, start)
      this.#buf[start - 1] = pos - start
      this.#pos = pos
    } else {
      const size = Buffer.byteLength(value)
      this.#reserve(5 + size)
      this.#varint32(size)
      this.#pos += this.#buf.write(value, this.#pos)
    }
  }

  /** Length, then the bytes. */
  bytes(value: Uint8Array): void {
    this.#reserve(5 + value.length)
    this.#varint32(value.length)
    this.#buf.set(value, this.#pos)
    this.#pos += value.length
  }

  /** Length, then the bytes that the text stands for; a buffer for each of many small values would take longer. */
  base64(value: string): void {
    const most = Math.ceil((value.length * 3) / 4)
    // As in `string`, the length fits in one byte and can be written afterwards.
    if (most >= 128) return this.bytes(Buffer.from(value, "base64"))
    this.#reserve(1 + most)
    const size = this.#buf.write(value, this.#pos + 1, "base64")
    this.#buf[this.#pos] = size
    this.#pos += 1 + size
  }

  /** Writes bytes without a length: data that is encoded already. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#buf.set(value, this.#pos)
    this.#pos += value.length
  }

  /** Opens a length-delimited part (nested message, packed list, map entry). Returns the mark for `end`. */
  begin(): number {
    this.#reserve(1)
    return ++this.#pos
  }

  /** Closes the part of the `begin` that returned `mark`. Parts are closed in the reverse order. */
  end(mark: number): void {
    const size = this.#pos - mark
    if (size < 128) {
      this.#buf[mark - 1] = size
      return
    }
    const extra = size < 1 << 14 ? 1 : size < 1 << 21 ? 2 : size < 1 << 28 ? 3 : 4
    this.#reserve(extra)
    this.#buf.copyWithin(mark + extra, mark, this.#pos)
    const after = this.#pos + extra
    this.#pos = mark - 1
    this.#varint32(size)
    this.#pos = after
  }

  #varint32(value: number): void {
    let rest = value >>> 0
    while (rest > 127) {
      this.#buf[this.#pos++] = (rest & 127) | 128
      rest >>>= 7
    }
    this.#buf[this.#pos++] = rest
  }

  #varint64(low: number, high: number): void {
    this.#reserve(10)
    let lo = low >>> 0
    let hi = high >>> 0
    while (hi !== 0) {
      this.#buf[this.#pos++] = (lo & 127) | 128
      lo = ((lo >>> 7) | (hi << 25)) >>> 0
      hi >>>= 7
    }
    this.#varint32(lo)
  }

  #reserve(bytes: number): void {
    const needed = this.#pos + bytes
    if (needed <= this.#buf.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.#buf.length * 2, needed))
    this.#buf.copy(grown, 0, 0, this.#pos)
    this.#buf = grown
  }
}

/** Returns the low 32 bits of a whole number as two's complement, also for negative numbers and those beyond 2^32. */
function low32(value: number): number {
  return value - Math.floor(value / TWO_32) * TWO_32
}
