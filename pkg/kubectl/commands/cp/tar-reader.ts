/** Reads tar archives piece by piece: ustar, pax records, and the long names and sizes of GNU's tar. */

const BLOCK = 512
/** Names and pax records are kept in memory; no honest one is larger. */
const MOST_RECORD_BYTES = 1024 * 1024

/** One entry. Its data is read before the next one is asked for, or left out. */
export interface ReadEntry {
  readonly name: string
  /** Hard links, devices and pipes are files without data, as kubectl has them. */
  readonly type: "file" | "directory" | "symlink"
  /** Of a link; otherwise empty. */
  readonly target: string
  readonly data: AsyncIterable<Uint8Array>
}

/** @throws Error in the words of Go's archive/tar for what is no archive, or ends too early */
export async function* readTar(input: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry, void, undefined> {
  const source = new Source(input)
  let records: Record<string, string> = {}
  for (;;) {
    const block = await source.block()
    if (block === undefined) return
    if (block.every((byte) => byte === 0)) {
      const second = await source.block()
      if (second === undefined || second.every((byte) => byte === 0)) return
      throw invalid()
    }
    if (!hasChecksum(block)) throw invalid()
    const flag = String.fromCharCode(block[156]!)
    const size = records["size"] === undefined ? numberAt(block, 124, 12) : Number(records["size"])
    if (!Number.isSafeInteger(size) || size < 0) throw invalid()
    if (flag === "x" || flag === "L" || flag === "K") {
      const text = await source.record(size)
      records = { ...records, ...recordsOf(flag, text) }
      continue
    }
    if (flag === "g") {
      await source.skip(size)
      await source.skipPadding(size)
      continue
    }
    const prefix = textAt(block, 257, 6) === "ustar" && textAt(block, 263, 2) === "00" ? textAt(block, 345, 155) : ""
    const own = textAt(block, 0, 100)
    const name = records["path"] ?? (prefix === "" ? own : `${prefix}/${own}`)
    const target = flag === "2" ? (records["linkpath"] ?? textAt(block, 157, 100)) : ""
    const isFolder = flag === "5" || (flag === "\0" && name.endsWith("/"))
    records = {}
    // Only what is a file has data, whatever the header of another says.
    const length = "0\x007S".includes(flag) ? size : 0
    const data = source.data(length)
    yield { name, type: isFolder ? "directory" : flag === "2" ? "symlink" : "file", target, data }
    for await (const _ of data);
    await source.skipPadding(length)
  }
}

const invalid = (): Error => new Error("archive/tar: invalid tar header")

const decoder = new TextDecoder()

function textAt(block: Uint8Array, at: number, length: number): string {
  const field = block.subarray(at, at + length)
  const end = field.indexOf(0)
  return decoder.decode(end === -1 ? field : field.subarray(0, end))
}

/** Reads an octal number, or one of GNU's tar, whose first bit is set and which is binary. */
function numberAt(block: Uint8Array, at: number, length: number): number {
  const first = block[at]!
  if ((first & 0x80) !== 0) {
    let value = first & 0x7f
    for (const byte of block.subarray(at + 1, at + length)) value = value * 256 + byte
    return value
  }
  const text = textAt(block, at, length).trim()
  return text === "" ? 0 : /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : NaN
}

/** Whether the sum of the header is right; its own field counts as spaces. */
function hasChecksum(block: Uint8Array): boolean {
  let sum = 0
  for (const [index, byte] of block.entries()) sum += index >= 148 && index < 156 ? 0x20 : byte
  return numberAt(block, 148, 8) === sum
}

/** Reads a long name, or records `<length> <key>=<value>\n`. */
function recordsOf(flag: string, data: Uint8Array): Record<string, string> {
  if (flag !== "x") return { [flag === "L" ? "path" : "linkpath"]: textAt(data, 0, data.length) }
  const records: Record<string, string> = {}
  for (let at = 0; at < data.length;) {
    const space = data.indexOf(0x20, at)
    const length = space === -1 ? NaN : Number(decoder.decode(data.subarray(at, space)))
    if (!(length > space - at + 1) || at + length > data.length) throw invalid()
    const text = decoder.decode(data.subarray(space + 1, at + length - 1))
    const equals = text.indexOf("=")
    if (equals < 1) throw invalid()
    records[text.slice(0, equals)] = text.slice(equals + 1)
    at += length
  }
  return records
}

/** The bytes of the archive, in pieces of the sizes that are asked for. */
class Source {
  readonly #parts: AsyncIterator<Uint8Array>
  #left: Uint8Array = new Uint8Array(0)

  constructor(input: AsyncIterable<Uint8Array>) {
    this.#parts = input[Symbol.asyncIterator]()
  }

  /** Returns at least one byte and at most `most`; undefined at the end. */
  async #some(most: number): Promise<Uint8Array | undefined> {
    while (this.#left.length === 0) {
      const { done, value } = await this.#parts.next()
      if (done === true) return undefined
      this.#left = value
    }
    const some = this.#left.subarray(0, most)
    this.#left = this.#left.subarray(some.length)
    return some
  }

  /** Returns a block; undefined at the end. */
  async block(): Promise<Uint8Array | undefined> {
    const block = new Uint8Array(BLOCK)
    for (let length = 0; length < BLOCK;) {
      const some = await this.#some(BLOCK - length)
      if (some === undefined && length === 0) return undefined
      if (some === undefined) throw new Error("unexpected EOF")
      block.set(some, length)
      length += some.length
    }
    return block
  }

  async *data(size: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let left = size; left > 0;) {
      const some = await this.#some(left)
      if (some === undefined) throw new Error("unexpected EOF")
      left -= some.length
      yield some
    }
  }

  async skip(size: number): Promise<void> {
    for await (const _ of this.data(size));
  }

  skipPadding(size: number): Promise<void> {
    return this.skip((BLOCK - (size % BLOCK)) % BLOCK)
  }

  /** Returns the data of an entry that describes the next one. */
  async record(size: number): Promise<Uint8Array> {
    if (size > MOST_RECORD_BYTES) throw new Error("archive/tar: header field too long")
    const whole = new Uint8Array(size)
    let length = 0
    for await (const part of this.data(size)) {
      whole.set(part, length)
      length += part.length
    }
    await this.skipPadding(size)
    return whole
  }
}
