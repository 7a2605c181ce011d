import { BrokenPipe, type OutputStream } from "../environment/environment.ts"

/** Where a command prints: one write at a time, each of which waits for the reader. */
export interface Output {
  write(text: string | Uint8Array): Promise<void>
}

/** Texts that are collected, for printers whose output is changed before it is printed. */
export class TextOutput implements Output {
  text = ""
  readonly #decoder = new TextDecoder()

  write(text: string | Uint8Array): Promise<void> {
    this.text += typeof text === "string" ? text : this.#decoder.decode(text, { stream: true })
    return Promise.resolve()
  }
}

/** The stream of errors: a reader that has gone does not matter there. */
export const quietOutput = (stream: OutputStream): Output => ({
  async write(text) {
    try {
      await stream.write(text)
    } catch (err) {
      if (!(err instanceof BrokenPipe)) throw err
    }
  },
})
