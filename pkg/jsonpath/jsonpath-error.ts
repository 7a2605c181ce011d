/** A JSONPath that cannot be parsed or evaluated; the message is client-go's. */
export class JsonPathError extends Error {
  override name = "JsonPathError"
}
