/**
 * A value that Go has and JSON has not, where an expression puts one into a configuration: it stands for what no field
 * takes, and messages show it.
 */
export class GoValue {
  /** As `%T`, `%v` and `%#v` show it. */
  readonly type: string
  readonly text: string
  readonly syntax: string
  constructor(type: string, text: string, syntax: string) {
    this.type = type
    this.text = text
    this.syntax = syntax
  }
}
