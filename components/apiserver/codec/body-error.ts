/** A fault in the bytes of a body, in the words of Go's decoders. The caller adds what was expected. */
export class BodyError extends Error {
  override readonly name = "BodyError"
}
