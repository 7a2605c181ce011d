import { Buffer } from "node:buffer"
import type { OpenFile } from "../runtime/open-file.ts"
import { valueOfBytes, type EnvironmentValue } from "../model/environment-variable.ts"

/**
 * The value of a key in a file of `KEY='value'` lines that a container has written. The value stands in single quotes,
 * literally, and may go over several lines; blank lines and what follows a `#` are left out. A blank after `=` makes
 * the value empty. Source: pkg/kubelet/util/env ParseEnv, KEP-3721.
 *
 * The file is read in pieces up to the key. Upstream limits the length of a line; here values and files are limited
 * too, because the container that wrote the file may be hostile.
 */

/** Source: bufio.MaxScanTokenSize. */
const MAX_LINE_BYTES = 64 * 1024
/** The longest environment variable of Linux (MAX_ARG_STRLEN). */
const MAX_VALUE_BYTES = 128 * 1024
/** The largest size of a ConfigMap. */
const MAX_FILE_BYTES = 1024 * 1024
const PIECE_BYTES = 64 * 1024
const NEWLINE = 10

/**
 * @returns "" for a key that does not exist or has no value @throws Error for a file that is malformed before the key,
 * or too long
 */
export async function valueInEnvFile(file: Pick<OpenFile, "read">, key: string): Promise<EnvironmentValue> {
  const parser = new EnvFileParser(Buffer.from(key).toString("latin1"))
  for await (const line of linesOf(file)) {
    const value = parser.take(line)
    if (value !== undefined) return valueOfBytes(Buffer.from(value, "latin1"))
  }
  parser.end()
  return ""
}

/** Yields the lines without their ends, as latin1: one character for each byte, so that no byte is lost. */
async function* linesOf(file: Pick<OpenFile, "read">): AsyncGenerator<string, void> {
  let rest: Uint8Array = new Uint8Array(0)
  for (let offset = 0; ;) {
    const piece = await file.read(offset, PIECE_BYTES)
    offset += piece.length
    if (offset > MAX_FILE_BYTES) throw new Error(`the file has more than ${MAX_FILE_BYTES} bytes before the key`)
    const bytes = Buffer.concat([rest, piece])
    let start = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield lineOf(bytes.subarray(start, end))
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (piece.length === 0) {
      if (rest.length > 0) yield lineOf(rest)
      return
    }
    if (rest.length >= MAX_LINE_BYTES) throw tooLong()
  }
}

function lineOf(bytes: Uint8Array): string {
  if (bytes.length >= MAX_LINE_BYTES) throw tooLong()
  const text = Buffer.from(bytes).toString("latin1")
  return text.endsWith("\r") ? text.slice(0, -1) : text
}

const tooLong = (): Error => new Error(`a line has ${MAX_LINE_BYTES} bytes or more`)

class EnvFileParser {
  readonly #key: string
  #line = 0
  /** A value that continues in the next line. */
  #open: { readonly name: string; readonly begunAt: number; text: string } | undefined

  constructor(key: string) {
    this.#key = key
  }

  /** Returns the value of the key when this line ends it; line and value are latin1. */
  take(line: string): string | undefined {
    this.#line++
    if (this.#open !== undefined) return this.#goOn(line)
    const text = line.replace(/^[ \t]+/, "")
    if (text === "" || text.startsWith("#")) return undefined
    const equals = text.indexOf("=")
    if (equals < 0) throw this.#wrong("missing '='")
    const name = text.slice(0, equals)
    if (name === "") throw this.#wrong("empty variable name")
    if (/[ \t]$/.test(name)) throw this.#wrong("whitespace before '=' is not allowed")
    const value = text.slice(equals + 1)
    if (/^[ \t]/.test(value)) return name === this.#key ? "" : undefined
    if (!value.startsWith("'")) throw this.#wrong("value must be enclosed in single quotes")
    this.#open = { name, begunAt: this.#line, text: "" }
    return this.#goOn(value.slice(1))
  }

  /** Called at the end of the file. */
  end(): void {
    if (this.#open !== undefined)
      throw new Error(
        `invalid environment variable format starting at line ${this.#open.begunAt}: unclosed single quote`,
      )
  }

  #goOn(line: string): string | undefined {
    const open = this.#open!
    const quote = line.indexOf("'")
    open.text += quote < 0 ? `${line}\n` : line.slice(0, quote)
    if (open.text.length > MAX_VALUE_BYTES) throw this.#wrong(`the value has more than ${MAX_VALUE_BYTES} bytes`)
    if (quote < 0) return undefined
    const after = line.slice(quote + 1).replace(/^[ \t]+/, "")
    if (after !== "" && !after.startsWith("#")) throw this.#wrong("unexpected content after closing quote")
    this.#open = undefined
    return open.name === this.#key ? open.text : undefined
  }

  #wrong(why: string): Error {
    return new Error(`invalid environment variable format at line ${this.#line}: ${why}`)
  }
}
