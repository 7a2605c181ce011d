/**
 * What is wrong with the bytes of a body, in the words of Go's decoders. Whoever reads the body says what it should
 * have been.
 */
export class BodyError extends Error {
  override readonly name = "BodyError"
}
