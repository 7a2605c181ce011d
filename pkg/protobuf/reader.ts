import { Buffer } from "node:buffer"
import { WIRE } from "./writer.ts"

/**
 * The bytes are not a protobuf message: they end early, or have a varint of more than ten bytes, an unknown wire type,
 * or too deep nesting.
 */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError"
}

const TWO_32 = 4294967296
/** The default recursion limit of protobuf. Without it a few bytes could exhaust the stack. */
const MAX_DEPTH = 100

/**
 * Reads proto3 wire data. The caller reads one tag after the other, and its value, or skips the value:
 *
 *     while (reader.more()) {
 *       const tag = reader.tag()
 *       if (tag >>> 3 === 1) name = reader.string()
 *       else reader.skip(tag & 7)
 *     }
 *
 * Invariant: `#pos <= #end` after every call that did not throw. Reading a varint may pass `#end` before that is
 * noticed, which is harmless: a typed array returns `undefined` there.
 */
export class Reader {
  readonly #buf: Buffer
  #pos = 0
  /** Where the innermost open part ends. */
  #end: number
  #depth = 0
  /** The two halves of the 64-bit varint read last. */
  #low = 0
  #high = 0

  constructor(data: Uint8Array) {
    this.#buf = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    this.#end = data.byteLength
  }

  /** Whether the open part (or the whole message) has bytes left. */
  more(): boolean {
    return this.#pos < this.#end
  }

  /** Field number shifted left by three, or'ed with the wire type. */
  tag(): number {
    const tag = this.uint32()
    if (tag >>> 3 === 0) throw new ProtobufError(`Cannot read message: field number 0 at byte ${this.#pos}`)
    return tag
  }

  uint32(): number {
    const first = this.#buf[this.#pos]
    if (first !== undefined && first < 128 && this.#pos < this.#end) {
      this.#pos++
      return first
    }
    this.#varint64()
    return this.#low >>> 0
  }

  int32(): number {
    return this.uint32() | 0
  }

  sint32(): number {
    const value = this.uint32()
    return (value >>> 1) ^ -(value & 1)
  }

  bool(): boolean {
    this.#varint64()
    return (this.#low | this.#high) !== 0
  }

  /** Reads a number: exact within ±2^53, rounded beyond. */
  int64(): number {
    this.#varint64()
    return (this.#high | 0) * TWO_32 + (this.#low >>> 0)
  }

  /** Reads a number where that is exact, a bigint beyond. */
  int64Wide(): number | bigint {
    const value = this.int64()
    if (Number.isSafeInteger(value)) return value
    return BigInt.asIntN(64, (BigInt(this.#high >>> 0) << 32n) | BigInt(this.#low >>> 0))
  }

  /** Reads a number: exact up to 2^53, rounded beyond. */
  uint64(): number {
    this.#varint64()
    return (this.#high >>> 0) * TWO_32 + (this.#low >>> 0)
  }

  int64Exact(): bigint {
    return BigInt.asIntN(64, this.uint64Exact())
  }

  uint64Exact(): bigint {
    this.#varint64()
    return (BigInt(this.#high >>> 0) << 32n) | BigInt(this.#low >>> 0)
  }

  /** Reads a number: exact within ±2^53, rounded beyond. */
  sint64(): number {
    const value = this.uint64Exact()
    return Number((value >> 1n) ^ -(value & 1n))
  }

  fixed32(): number {
    return this.#buf.readUInt32LE(this.#advance(4))
  }

  sfixed32(): number {
    return this.#buf.readInt32LE(this.#advance(4))
  }

  fixed64(): bigint {
    return this.#buf.readBigUInt64LE(this.#advance(8))
  }

  float(): number {
    return this.#buf.readFloatLE(this.#advance(4))
  }

  double(): number {
    return this.#buf.readDoubleLE(this.#advance(8))
  }

  /** Reads a string. Bytes that are not UTF-8 become U+FFFD; Go's generated code also accepts them. */
  string(): string {
    const size = this.uint32()
    const start = this.#advance(size)
    // Up to some nine characters a loop is faster than a call into the runtime.
    if (size <= 8) {
      let text = ""
      for (let i = start; i < start + size; i++) {
        const code = this.#buf[i]!
        if (code > 127) return this.#buf.toString("utf8", start, start + size)
        text += String.fromCharCode(code)
      }
      return text
    }
    return this.#buf.toString("utf8", start, start + size)
  }

  /** Returns a view on the data, not a copy. */
  bytes(): Uint8Array {
    const size = this.uint32()
    const start = this.#advance(size)
    return new Uint8Array(this.#buf.buffer, this.#buf.byteOffset + start, size)
  }

  /** Enters a length-delimited part; `more` then applies to that part. Returns the argument for `leave`. */
  enter(): number {
    const size = this.uint32()
    const outer = this.#end
    if (size > outer - this.#pos) throw this.#truncated()
    if (++this.#depth > MAX_DEPTH)
      throw new ProtobufError(`Cannot read message: nested deeper than ${MAX_DEPTH} levels`)
    this.#end = this.#pos + size
    return outer
  }

  /** Leaves the part that was entered last, and skips the rest of it. */
  leave(outer: number): void {
    this.#pos = this.#end
    this.#end = outer
    this.#depth--
  }

  /**
   * Skips a value of the given wire type, for fields that the caller does not know. Groups are skipped with all they
   * contain.
   */
  skip(wire: number): void {
    if (wire === WIRE.varint) this.#varint64()
    else if (wire === WIRE.fixed64) this.#advance(8)
    else if (wire === WIRE.bytes) this.#advance(this.uint32())
    else if (wire === WIRE.fixed32) this.#advance(4)
    else if (wire === GROUP_START) this.#skipGroup()
    else throw new ProtobufError(`Cannot read message: unknown wire type ${wire} at byte ${this.#pos}`)
  }

  #skipGroup(): void {
    let open = 1
    while (open > 0) {
      const wire = this.tag() & 7
      if (wire === GROUP_START) open++
      else if (wire === GROUP_END) open--
      else this.skip(wire)
    }
  }

  #advance(size: number): number {
    const start = this.#pos
    if (size > this.#end - start) throw this.#truncated()
    this.#pos = start + size
    return start
  }

  #varint64(): void {
    const buf = this.#buf
    let pos = this.#pos
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = buf[pos++]
      if (byte === undefined) throw this.#truncated()
      const bits = byte & 127
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >>> 4
        // Only the lowest bit of the tenth byte fits; the others are dropped
      } else high |= bits << (shift - 32)
      if (byte < 128) {
        if (pos > this.#end) throw this.#truncated()
        this.#pos = pos
        this.#low = low
        this.#high = high
        return
      }
    }
    throw new ProtobufError(`Cannot read message: varint of more than ten bytes at byte ${this.#pos}`)
  }

  #truncated(): ProtobufError {
    return new ProtobufError(`Cannot read message: it ends early, at byte ${this.#pos} of ${this.#end}`)
  }
}

const GROUP_START = 3
const GROUP_END = 4
