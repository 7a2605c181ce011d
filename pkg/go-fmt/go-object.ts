/** A value of Go that a template can ask, and that is no part of a document: a struct, or a type with methods. */
export class GoObject {
  /** The name of its type. */
  readonly type: string
  /** What it is printed as. */
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly methods: Readonly<Record<string, (...args: readonly unknown[]) => unknown>>
  /** The entries of a type that is a map. */
  readonly entries: Readonly<Record<string, unknown>> | undefined

  constructor({
    type,
    text = "{}",
    fields = {},
    methods = {},
    entries,
  }: {
    readonly type: string
    readonly text?: string
    readonly fields?: GoObject["fields"]
    readonly methods?: GoObject["methods"]
    readonly entries?: GoObject["entries"]
  }) {
    this.type = type
    this.text = text
    this.fields = fields
    this.methods = methods
    this.entries = entries
  }
}
