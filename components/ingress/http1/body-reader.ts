import { isValue, MalformedMessage, parseFields, type Field, type Framing } from "../messages/head.ts"

export interface BodyHandlers {
  data(chunk: Buffer): void
  /** Called when the body is complete. */
  end(trailers: readonly Field[]): void
}

/**
 * The longest line with the size of a chunk, including extensions, which are dropped; and the longest trailers in all.
 */
const LONGEST_SIZE_LINE = 1024
const LONGEST_TRAILERS = 16 * 1024

type Step = "size" | "data" | "after data" | "trailers" | "done"

/**
 * Finds the end of a body in the bytes of a connection, and decodes chunks. Source: RFC 9112, 6 and 7. A body with the
 * framing `close` ends with a call of `closed`.
 */
export class BodyReader {
  readonly #framing: Framing
  readonly #handlers: BodyHandlers
  #step: Step
  /** Bytes that remain of the body or of the chunk. */
  #left: number
  /** The beginning of a line whose end has not arrived. */
  #line = ""
  #trailers = ""

  constructor(framing: Framing, handlers: BodyHandlers) {
    this.#framing = framing
    this.#handlers = handlers
    this.#left = framing.kind === "length" ? framing.length : framing.kind === "close" ? Infinity : 0
    this.#step = framing.kind === "chunked" ? "size" : "data"
  }

  get done(): boolean {
    return this.#step === "done"
  }

  /** Reports the end of a body without bytes. Must be called once, before the first bytes. */
  begin(): void {
    if (this.#framing.kind === "none" || (this.#framing.kind === "length" && this.#left === 0)) this.#end([])
  }

  /** Reads bytes of the connection. Returns how many of them belong to the body. @throws MalformedMessage */
  take(bytes: Buffer): number {
    let at = 0
    while (at < bytes.length && this.#step !== "done") at = this.#next(bytes, at)
    return at
  }

  /** Called when the other side has ended the connection. Returns whether the body is complete. */
  closed(): boolean {
    if (this.#framing.kind === "close" && this.#step === "data") this.#end([])
    return this.done
  }

  #next(bytes: Buffer, at: number): number {
    if (this.#step === "data") {
      const end = Math.min(bytes.length, at + this.#left)
      this.#left -= end - at
      this.#handlers.data(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
      if (this.#left === 0) {
        if (this.#framing.kind === "length") this.#end([])
        else this.#step = "after data"
      }
      return end
    }
    const feed = bytes.indexOf(10, at)
    const end = feed < 0 ? bytes.length : feed + 1
    this.#line += bytes.toString("latin1", at, end)
    if (this.#line.length > (this.#step === "trailers" ? LONGEST_TRAILERS : LONGEST_SIZE_LINE))
      throw new MalformedMessage(400, "a line of a chunked body is too long")
    if (feed < 0) return end
    if (!this.#line.endsWith("\r\n")) throw new MalformedMessage(400, "a line of a chunked body does not end in CRLF")
    const line = this.#line.slice(0, -2)
    this.#line = ""
    this.#ofLine(line)
    return end
  }

  #ofLine(line: string): void {
    if (this.#step === "after data") {
      if (line !== "") throw new MalformedMessage(400, "a chunk is longer than it says")
      this.#step = "size"
    } else if (this.#step === "size") {
      const [, size] = /^([\da-f]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/i.exec(line) ?? []
      if (size === undefined) throw new MalformedMessage(400, "the size of a chunk is no number")
      this.#left = Number.parseInt(size, 16)
      this.#step = this.#left === 0 ? "trailers" : "data"
    } else if (line === "") this.#end(parseFields(this.#trailers, 0))
    else {
      this.#trailers += this.#trailers === "" ? line : `\r\n${line}`
      if (this.#trailers.length > LONGEST_TRAILERS) throw new MalformedMessage(431, "the trailers are too long")
      if (!isValue(line)) throw new MalformedMessage(400, "a trailer has a forbidden character")
    }
  }

  #end(trailers: readonly Field[]): void {
    this.#step = "done"
    this.#handlers.end(trailers)
  }
}
