import type { JsonMap } from "./drafts.ts"
import type { Fault, Path } from "./faults.ts"
import type { SchemaNode } from "./schema-document.ts"
import type { SchemaSet } from "./schema-set.ts"
import type { Work } from "./work.ts"

/** What the keywords of a schema have looked at, for those that are about the rest. */
export interface Seen {
  readonly properties: Set<string>
  readonly items: Set<number>
}

/** A schema that is applied, and those that it was reached by. */
export interface Scope {
  readonly node: SchemaNode
  readonly above: Scope | undefined
  /** The steps from the schema above. */
  readonly steps: readonly string[]
  /** The same for all schemas that are applied to one value in one place. */
  readonly place: object
}

/** A schema applied to a value. */
export interface Application {
  readonly node: SchemaNode
  readonly schema: JsonMap
  readonly path: Path | undefined
  readonly scope: Scope
  /** Undefined where nobody asks what was looked at. */
  readonly seen: Seen | undefined
  readonly evaluation: Evaluation
}

/** What keywords have that apply other schemas. All of it throws where that is too much work. */
export interface Evaluation {
  readonly set: SchemaSet
  readonly work: Work
  /** Applies a schema to a whole value. Returns what is wrong with it. */
  start(node: SchemaNode, value: unknown): Fault | undefined
  /** Applies a schema that stands in another one to a value below its value. */
  below(from: Application, steps: readonly string[], schema: unknown, value: unknown, step: string): Fault | undefined
  /** Applies a schema to the same value as another. What it looks at counts for that one, if it accepts the value. */
  same(from: Application, steps: readonly string[], node: SchemaNode, value: unknown): Fault | undefined
}
