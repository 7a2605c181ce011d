/** A queue between callbacks and one `for await`. Items that were pushed before `end` or `fail` are still delivered. */
export class Mailbox<T> implements AsyncIterable<T> {
  readonly #items: T[] = []
  #closed = false
  #error: { readonly reason: unknown } | undefined
  /** Wakes the reader; set only while it waits. */
  #wake: (() => void) | undefined

  push(item: T): void {
    if (this.#closed) return
    this.#items.push(item)
    this.#wake?.()
  }

  end(): void {
    this.#closed = true
    this.#wake?.()
  }

  /** Ends the queue with an error. Only the first `end` or `fail` counts. */
  fail(reason: unknown): void {
    if (this.#closed) return
    this.#error = { reason }
    this.end()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    for (;;) {
      const item = this.#items.shift()
      if (item !== undefined) yield item
      else if (this.#error !== undefined) throw this.#error.reason
      else if (this.#closed) return
      else {
        await new Promise<void>((resolve) => (this.#wake = resolve))
        this.#wake = undefined
      }
    }
  }
}
