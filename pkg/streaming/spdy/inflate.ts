/**
 * A decompressor for the header blocks of one direction of a SPDY connection: one zlib stream with the preset
 * dictionary, which sync flushes divide into one piece for each frame (RFC 1950, 1951).
 *
 * Why not `node:zlib`: its synchronous functions forget the window between calls, and its streams answer in a later
 * turn of the event loop, when the frames after the block have arrived already. Header blocks have some hundred bytes,
 * so plain code is fast enough.
 */
import { HEADER_DICTIONARY, HEADER_DICTIONARY_ID } from "./dictionary.ts"

/**
 * The size of the largest block after decompression: larger than any real one, so that a small block cannot fill the
 * memory.
 */
const MAX_BLOCK = 256 * 1024
const WINDOW = 32 * 1024

export class InflateError extends Error {
  override readonly name = "InflateError"
}

export class HeaderInflater {
  #window: Buffer = Buffer.alloc(0)
  #started = false

  /**
   * Returns the text of the next block. `input` is the whole compressed part of one frame.
   * @throws InflateError, after which the connection cannot be used
   */
  next(input: Buffer): Buffer {
    const bits = new BitReader(input)
    if (!this.#started) this.#readZlibHeader(bits)
    const out = new Output(this.#window)
    // A sync flush ends with an empty stored block, so that a piece ends with a whole byte.
    while (!bits.atEnd()) {
      const final = bits.take(1) === 1
      readBlock(bits.take(2), bits, out)
      if (final) break
    }
    this.#window = out.lastBytes(WINDOW)
    return out.fresh()
  }

  #readZlibHeader(bits: BitReader): void {
    const method = bits.take(8)
    const flags = bits.take(8)
    if ((method & 0x0f) !== 8 || (method * 256 + flags) % 31 !== 0)
      throw new InflateError("header block is not a zlib stream")
    if (flags & 0x20) {
      const id = ((bits.take(8) << 24) | (bits.take(8) << 16) | (bits.take(8) << 8) | bits.take(8)) >>> 0
      if (id !== HEADER_DICTIONARY_ID)
        throw new InflateError(`header block uses the unknown dictionary ${id.toString(16)}`)
      this.#window = HEADER_DICTIONARY
    }
    this.#started = true
  }
}

function readBlock(type: number, bits: BitReader, out: Output): void {
  if (type === 0) return readStored(bits, out)
  if (type === 1) return readCompressed(bits, out, ...fixedCodes())
  if (type === 2) {
    const [literals, distances] = readTables(bits)
    return readCompressed(bits, out, literals, distances)
  }
  throw new InflateError("header block has an invalid block type")
}

function readStored(bits: BitReader, out: Output): void {
  bits.align()
  const length = bits.take(16)
  if ((length ^ 0xffff) !== bits.take(16)) throw new InflateError("header block has a damaged stored block")
  for (let i = 0; i < length; i++) out.literal(bits.take(8))
}

// Base value and number of extra bits of the length codes 257–285 and the distance codes 0–29 (RFC 1951, 3.2.5).
const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
]
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
const DISTANCE_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
  8193, 12289, 16385, 24577,
]
const DISTANCE_EXTRA = [
  0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
]
// The order of the lengths of the code length codes (3.2.7).
const CODE_LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

function readCompressed(bits: BitReader, out: Output, literals: Huffman, distances: Huffman): void {
  for (;;) {
    const symbol = literals.read(bits)
    if (symbol < 256) {
      out.literal(symbol)
      continue
    }
    if (symbol === 256) return
    const [lengthBase, lengthExtra] = [LENGTH_BASE[symbol - 257], LENGTH_EXTRA[symbol - 257]]
    const length = (lengthBase ?? invalid()) + bits.take(lengthExtra ?? 0)
    const code = distances.read(bits)
    const [distanceBase, distanceExtra] = [DISTANCE_BASE[code], DISTANCE_EXTRA[code]]
    out.copy((distanceBase ?? invalid()) + bits.take(distanceExtra ?? 0), length)
  }
}

function invalid(): never {
  throw new InflateError("header block has an invalid code")
}

function readTables(bits: BitReader): [Huffman, Huffman] {
  const literalCount = bits.take(5) + 257
  const distanceCount = bits.take(5) + 1
  const codeLengthCount = bits.take(4) + 4
  const codeLengths = new Array<number>(19).fill(0)
  for (let i = 0; i < codeLengthCount; i++) codeLengths[CODE_LENGTH_ORDER[i]!] = bits.take(3)
  const codes = new Huffman(codeLengths)
  const lengths: number[] = []
  while (lengths.length < literalCount + distanceCount) {
    const symbol = codes.read(bits)
    if (symbol < 16) lengths.push(symbol)
    else if (symbol === 16) repeat(lengths, lengths.at(-1) ?? invalid(), 3 + bits.take(2))
    else if (symbol === 17) repeat(lengths, 0, 3 + bits.take(3))
    else repeat(lengths, 0, 11 + bits.take(7))
  }
  return [
    new Huffman(lengths.slice(0, literalCount)),
    new Huffman(lengths.slice(literalCount, literalCount + distanceCount)),
  ]
}

function repeat(list: number[], value: number, times: number): void {
  for (let i = 0; i < times; i++) list.push(value)
}

/** A canonical prefix code. It is given as the length in bits of each symbol's code (3.2.2). */
class Huffman {
  /** The number of codes of each length, and the symbols in the order of their codes. */
  readonly #counts = new Array<number>(16).fill(0)
  readonly #symbols: number[] = []

  constructor(lengths: readonly number[]) {
    for (const length of lengths) if (length > 0) this.#counts[length]!++
    for (let length = 1; length < 16; length++)
      for (const [symbol, own] of lengths.entries()) if (own === length) this.#symbols.push(symbol)
  }

  read(bits: BitReader): number {
    let code = 0
    let first = 0
    let index = 0
    for (let length = 1; length < 16; length++) {
      code |= bits.take(1)
      const count = this.#counts[length]!
      if (code - first < count) return this.#symbols[index + code - first]!
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    return invalid()
  }
}

/** The codes of blocks without codes of their own, made for the first of them: most servers have no SPDY connection. */
let fixed: readonly [literals: Huffman, distances: Huffman] | undefined

const fixedCodes = (): readonly [literals: Huffman, distances: Huffman] =>
  (fixed ??= [
    new Huffman(
      Array.from({ length: 288 }, (_, symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8)),
    ),
    new Huffman(new Array<number>(30).fill(5)),
  ])

/** Reads bits, beginning with the lowest of each byte. */
class BitReader {
  #at = 0
  #bit = 0

  constructor(private readonly input: Buffer) {}

  take(count: number): number {
    let value = 0
    for (let i = 0; i < count; i++) {
      const byte = this.input[this.#at]
      if (byte === undefined) throw new InflateError("header block ends too early")
      value |= ((byte >> this.#bit) & 1) << i
      if (++this.#bit === 8) {
        this.#bit = 0
        this.#at++
      }
    }
    return value
  }

  align(): void {
    if (this.#bit > 0) {
      this.#bit = 0
      this.#at++
    }
  }

  atEnd(): boolean {
    return this.#at >= this.input.length
  }
}

/** The decompressed bytes, after the window that back references may refer to. */
class Output {
  #buffer: Buffer
  #length: number

  constructor(private readonly before: Buffer) {
    this.#buffer = Buffer.alloc(before.length + 1024)
    before.copy(this.#buffer)
    this.#length = before.length
  }

  literal(byte: number): void {
    if (this.#length === this.#buffer.length) {
      if (this.#length - this.before.length >= MAX_BLOCK)
        throw new InflateError(`header block is larger than ${MAX_BLOCK} bytes`)
      this.#buffer = Buffer.concat([this.#buffer], this.#buffer.length * 2)
    }
    this.#buffer[this.#length++] = byte
  }

  copy(distance: number, length: number): void {
    if (distance > this.#length) throw new InflateError("header block refers to bytes before its start")
    for (let i = 0; i < length; i++) this.literal(this.#buffer[this.#length - distance]!)
  }

  fresh(): Buffer {
    return this.#buffer.subarray(this.before.length, this.#length)
  }

  lastBytes(count: number): Buffer {
    return Buffer.from(this.#buffer.subarray(Math.max(0, this.#length - count), this.#length))
  }
}
