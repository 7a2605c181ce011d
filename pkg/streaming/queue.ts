/** A queue with one reader, who gets the values in their order and waits when there is none. */
export class Queue<T> implements AsyncIterable<T> {
  readonly #values: T[] = []
  #ended = false
  #wake: (() => void) | undefined

  push(value: T): void {
    if (this.#ended) return
    this.#values.push(value)
    this.#wake?.()
  }

  /** Ends the queue: the reader gets the remaining values and then the end. */
  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const value = this.#values.shift()
      if (value !== undefined) yield value
      else if (this.#ended) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
