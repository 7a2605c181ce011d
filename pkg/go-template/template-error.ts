/** A template that cannot be parsed or executed; the message is Go's. */
export class TemplateError extends Error {
  override name = "TemplateError"
}
