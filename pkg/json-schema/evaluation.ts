import { pushAll } from "../lists/push-all.ts"
import type { Application, Evaluation, Scope, Seen } from "./application.ts"
import { arrayFaults } from "./array-keywords.ts"
import { combinedFaults, unevaluatedFaults } from "./combining-keywords.ts"
import { isMap } from "./drafts.ts"
import type { Fault, Path } from "./faults.ts"
import { objectFaults } from "./object-keywords.ts"
import { refusal } from "./plain-keywords.ts"
import { pointerOf } from "./pointer.ts"
import { referenceFault } from "./references.ts"
import { numberFaults, textFaults } from "./scalar-keywords.ts"
import { addressOf, type SchemaNode } from "./schema-document.ts"
import type { SchemaSet } from "./schema-set.ts"
import type { Work } from "./work.ts"
import { quoted } from "../go-fmt/quote.ts"

const newSeen = (): Seen => ({ properties: new Set(), items: new Set() })

/** Applies schemas to values. */
export class Evaluator implements Evaluation {
  readonly set: SchemaSet
  readonly work: Work

  constructor(set: SchemaSet, work: Work) {
    this.set = set
    this.work = work
  }

  start(node: SchemaNode, value: unknown): Fault | undefined {
    return this.#apply({ node, above: undefined, steps: [], place: {} }, value, undefined, undefined)
  }

  below({ node, scope, path }: Application, steps: readonly string[], schema: unknown, value: unknown, step: string) {
    const inner = { node: node.document.nodeOf(schema, node, ...steps), above: scope, steps, place: {} }
    return this.#apply(inner, value, { step, above: path }, undefined)
  }

  same({ scope, path, seen }: Application, steps: readonly string[], node: SchemaNode, value: unknown) {
    const own = seen === undefined ? undefined : newSeen()
    const fault = this.#apply({ node, above: scope, steps, place: scope.place }, value, path, own)
    if (fault === undefined && seen !== undefined && own !== undefined) {
      for (const name of own.properties) seen.properties.add(name)
      for (const index of own.items) seen.items.add(index)
      this.work.step(own.properties.size + own.items.size)
    }
    return fault
  }

  #apply(scope: Scope, value: unknown, path: Path | undefined, seen: Seen | undefined): Fault | undefined {
    return this.work.deeper(() => {
      const { node } = scope
      const { schema } = node
      if (schema === false) return { path, text: "false schema", causes: [] }
      if (!isMap(schema)) return undefined
      const circle = this.#circle(scope)
      if (circle !== undefined) return { path, text: circle, causes: [] }
      const asks = "unevaluatedProperties" in schema || "unevaluatedItems" in schema
      const application: Application = {
        node,
        schema,
        path,
        scope,
        seen: seen ?? (asks ? newSeen() : undefined),
        evaluation: this,
      }
      return this.#judge(application, value)
    })
  }

  #judge(application: Application, value: unknown): Fault | undefined {
    const { node, schema, path } = application
    const { version } = node.resource.draft
    const isRef = this.set.target(schema, "$ref") !== undefined
    if (isRef && version < 2019) return referenceFault(application, value, "$ref")
    const plain = refusal(application, value)
    if (plain !== undefined) return { path, text: plain, causes: [] }
    const faults: Fault[] = []
    const add = (fault: Fault | undefined) => {
      if (fault !== undefined) faults.push(fault)
    }
    if (isRef) add(referenceFault(application, value, "$ref"))
    if (isMap(value)) pushAll(faults, objectFaults(application, value))
    else if (Array.isArray(value)) pushAll(faults, arrayFaults(application, value))
    else if (typeof value === "string") pushAll(faults, textFaults(application, value))
    else if (typeof value === "number") pushAll(faults, numberFaults(application, value))
    if (version >= 2019) {
      add(referenceFault(application, value, "$recursiveRef"))
      add(referenceFault(application, value, "$dynamicRef"))
    }
    pushAll(faults, combinedFaults(application, value))
    if (version >= 2019) pushAll(faults, unevaluatedFaults(application, value))
    return faults.length > 1 ? { path, text: "validation failed", causes: faults, kind: "group" } : faults[0]
  }

  /** Returns a message where a schema is applied to a value to which it is applied already. */
  #circle(scope: Scope): string | undefined {
    for (let at = scope.above; at !== undefined && at.place === scope.place; at = at.above) {
      this.work.step()
      if (at.node.schema === scope.node.schema)
        return `both ${wayTo(scope)} and ${wayTo(at)} resolve to ${quoted(addressOf(scope.node))} causing reference cycle`
    }
    return undefined
  }
}

function wayTo(scope: Scope): string {
  const steps: string[] = []
  for (let at: Scope | undefined = scope; at !== undefined; at = at.above) pushAll(steps, at.steps.toReversed())
  return pointerOf(steps.toReversed())
}
