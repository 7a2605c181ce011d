import { Buffer } from "node:buffer"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import {
  MOST_BYTES,
  MOST_LINE_BYTES,
  RECORDING_FORMAT,
  RecordingError,
  tooLarge,
  type RecordedObject,
  type RecordedWrite,
  type RecordingEnd,
  type RecordingHead,
} from "./format.ts"

const compress = promisify(gzip)
/** The bytes of lines after which a block is compressed and written. */
const BLOCK_BYTES = 2 ** 20

/** Takes the parts of a file, in their order. */
export type Sink = (part: Uint8Array) => Promise<void>

/**
 * Writes a recording piece by piece: no more than one block of it is in memory. Its methods throw a RecordingError for
 * what no reader takes.
 */
export class RecordingWriter {
  readonly #sink: Sink
  readonly #mostBytes: number
  #lines: string[] = []
  #bytes = 0
  /** The bytes of all lines. */
  #all = 0
  #objects = 0
  #writes = 0

  /** At most `mostBytes` are written, since no reader takes more. */
  constructor(sink: Sink, mostBytes = MOST_BYTES) {
    this.#sink = sink
    this.#mostBytes = mostBytes
  }

  get objects(): number {
    return this.#objects
  }
  get writes(): number {
    return this.#writes
  }

  head(head: Omit<RecordingHead, "k3tsRecording" | "anonymised">, anonymised = false): Promise<void> {
    const whole: RecordingHead = { k3tsRecording: RECORDING_FORMAT, ...head, anonymised }
    return this.#sink(Buffer.from(`${JSON.stringify(whole)}\n`))
  }

  async object(record: Omit<RecordedObject, "type">): Promise<void> {
    this.#objects++
    await this.#line({ type: "object", ...record })
  }

  async write(record: Omit<RecordedWrite, "type">): Promise<void> {
    this.#writes++
    await this.#line({ type: "write", ...record })
  }

  async end({ time, resources, left }: Omit<RecordingEnd, "type" | "objects" | "writes">): Promise<void> {
    await this.#line({ type: "end", time, objects: this.#objects, writes: this.#writes, resources, left })
    await this.#flush()
  }

  async #line(record: RecordedObject | RecordedWrite | RecordingEnd): Promise<void> {
    const line = `${JSON.stringify(record)}\n`
    const bytes = Buffer.byteLength(line)
    if (bytes > MOST_LINE_BYTES) throw new RecordingError(`an object has more than ${MOST_LINE_BYTES >> 20} MiB`)
    this.#all += bytes
    if (this.#all > this.#mostBytes) throw tooLarge(this.#mostBytes)
    this.#lines.push(line)
    this.#bytes += bytes
    if (this.#bytes >= BLOCK_BYTES) await this.#flush()
  }

  async #flush(): Promise<void> {
    const block = this.#lines.join("")
    this.#lines = []
    this.#bytes = 0
    await this.#sink(await compress(block))
  }
}
