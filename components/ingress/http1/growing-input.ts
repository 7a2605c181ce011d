const FIRST_ROOM = 4096

/**
 * Collects bytes that arrive part by part. The room doubles when it is used up, so that a long head in small parts is
 * copied twice at most and not once for each part. Bytes are never changed where they are: parts of earlier results
 * stay valid.
 */
export class GrowingInput {
  #room = Buffer.alloc(0)
  #used = 0

  /** Returns the bytes of `input` followed by `more`. It is without a copy of `input` when that is the last result's end. */
  append(input: Buffer, more: Buffer): Buffer {
    const start = input.byteOffset - this.#room.byteOffset
    const isOurs = input.buffer === this.#room.buffer && start >= 0 && start + input.length === this.#used
    if (isOurs && this.#used + more.length <= this.#room.length) {
      more.copy(this.#room, this.#used)
      this.#used += more.length
      return this.#room.subarray(start, this.#used)
    }
    const length = input.length + more.length
    this.#room = Buffer.allocUnsafeSlow(Math.max(FIRST_ROOM, 2 * length))
    input.copy(this.#room)
    more.copy(this.#room, input.length)
    this.#used = length
    return this.#room.subarray(0, length)
  }
}
