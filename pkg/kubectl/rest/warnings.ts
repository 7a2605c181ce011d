import { Buffer } from "node:buffer"
import type { Output } from "../printers/output.ts"

/** Prints warnings of the server, each once. Source: client-go rest/warnings.go. */
export class Warnings {
  readonly #out: Output
  readonly #color: boolean
  readonly #seen = new Set<string>()
  #printed: Promise<void> = Promise.resolve()
  #isMuted = false

  constructor(out: Output, { color }: { readonly color: boolean }) {
    this.#out = out
    this.#color = color
  }

  get count(): number {
    return this.#seen.size
  }

  /** Prints those headers `Warning` that are warnings: with code 299 and a text in quotes. */
  received(headers: readonly string[]): void {
    for (const header of headers)
      for (const [, text = ""] of header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g))
        this.print(inUtf8(text.replaceAll(/\\(.)/g, "$1")))
  }

  /** Prints no more warnings: the command asks for whatever there is, and not what its user names. */
  mute(): void {
    this.#isMuted = true
  }

  print(text: string): void {
    if (this.#isMuted || text === "" || this.#seen.has(text)) return
    this.#seen.add(text)
    const line = this.#color ? `\u001b[33;1mWarning:\u001b[0m ${text}\n` : `Warning: ${text}\n`
    this.#printed = this.#printed.then(() => this.#out.write(line))
  }

  /** Resolves when all warnings are printed. */
  flushed(): Promise<void> {
    return this.#printed
  }
}

/** Returns the text of a header, in which each character is a byte of UTF-8; as it is where the bytes are none. */
function inUtf8(text: string): string {
  if (!/^[\x00-\xff]*[\x80-\xff]/.test(text)) return text
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(text, "latin1"))
  } catch {
    return text
  }
}
