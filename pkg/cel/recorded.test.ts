import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { compile } from "./compile.ts"
import { typeOfSchema, type Schema } from "./schema-type.ts"
import { formatIssues } from "./syntax/issue.ts"
import { jsonOf } from "./values/to-json.ts"
import { CelError, Optional, TypeValue, type Value } from "./values/values.ts"

/**
 * The results of Kubernetes 1.36.2 for expressions: the value as JSON or the message, the cost, and the least and
 * greatest cost that it estimates (null: without bound). Recorded from its own environment of rules of custom
 * resources.
 */
interface Recorded {
  readonly schema: Schema
  readonly self: unknown
  readonly outcomes: readonly {
    readonly given: string
    readonly gives: string
    readonly cost?: number
    readonly estimate?: readonly [number, number | null]
  }[]
}
const recorded = JSON.parse(readFileSync(new URL("./recorded.json", import.meta.url), "utf8")) as Recorded
const self = typeOfSchema(recorded.schema)!

/** The words of the recording. */
function words(value: Value): string {
  if (value instanceof CelError) return value.message
  if (value instanceof TypeValue) return value.type.name
  if (value instanceof Optional) return value.value === undefined ? "none" : `optional(${words(value.value)})`
  return JSON.stringify(jsonOf(value))
}

describe("Kubernetes gives the same result for", () => {
  for (const { given, gives, cost, estimate } of recorded.outcomes)
    test(given, () => {
      // when
      const compiled = compile(given, { variables: { self } })
      // then
      if ("issues" in compiled) {
        const message =
          compiled.stage === "compilation" ? formatIssues(compiled.issues, given) : compiled.issues[0]!.message
        expect(message).toBe(gives)
        return
      }
      const { min, max } = compiled.estimatedCost
      const evaluated = compiled.program.evaluate({ self: recorded.self })
      expect(words(evaluated.value)).toBe(gives)
      expect(evaluated.cost).toBe(cost!)
      expect([min, max > 2 ** 63 ? null : max]).toEqual([...estimate!])
    })
})
