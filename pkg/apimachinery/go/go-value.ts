/**
 * A value that exists in Go but not in JSON, which an expression can put into a configuration. No field accepts it, and
 * error messages show it.
 */
export class GoValue {
  /** The type and the text of the value as Go's `%T`, `%v` and `%#v` show them. */
  readonly type: string
  readonly text: string
  readonly syntax: string
  constructor(type: string, text: string, syntax: string) {
    this.type = type
    this.text = text
    this.syntax = syntax
  }
}
