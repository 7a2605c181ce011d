/** The bytes that a socket takes before its program reads them: Linux's usual receive buffer. */
const MOST_BYTES = 64 * 1024

/**
 * What has arrived at a client and was not read yet. The end of the connection, or the error that broke it, is seen
 * after what has arrived before.
 */
export class ReceiveBuffer {
  readonly #parts: Uint8Array[] = []
  #bytes = 0
  #end: { readonly err: unknown } | undefined
  /** Resolves at the next change. */
  #changed = Promise.withResolvers<void>()

  /** Resolves when the buffer takes more. */
  async hasRoom(): Promise<void> {
    while (this.#bytes >= MOST_BYTES) await this.#changed.promise
  }

  add(part: Uint8Array): void {
    this.#parts.push(part)
    this.#bytes += part.length
    this.#change()
  }

  /** Ends the stream: with the error that broke the connection, if there is one. */
  end(err?: unknown): void {
    this.#end = { err }
    this.#change()
  }

  /** Returns what the client reads. `left` is called with the reason when the client reads no more. */
  stream(left: (reason: unknown) => void): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          while (this.#parts.length === 0 && this.#end === undefined) await this.#changed.promise
          const part = this.#parts.shift()
          if (part !== undefined) {
            this.#bytes -= part.length
            this.#change()
            controller.enqueue(part)
          } else if (this.#end!.err === undefined) controller.close()
          else controller.error(this.#end!.err)
        },
        cancel: (reason) => left(reason ?? new Error("the client has left")),
      },
      { highWaterMark: 0 },
    )
  }

  #change(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }
}
