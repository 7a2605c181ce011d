import { isMap } from "./drafts.ts"
import type { Application } from "./application.ts"
import { count, type Fault } from "./faults.ts"

/** Returns what the keywords find wrong that combine other schemas for the same value. */
export function combinedFaults(application: Application, value: unknown): readonly Fault[] {
  const { schema, node, path, evaluation } = application
  const { version } = node.resource.draft
  const apply = (inner: unknown, ...steps: readonly string[]) =>
    evaluation.same(application, steps, node.document.nodeOf(inner, node, ...steps), value)
  const all = (keyword: string): readonly (Fault | undefined)[] => {
    const list = schema[keyword]
    return Array.isArray(list) ? list.map((inner, i) => apply(inner, keyword, String(i))) : []
  }
  const faults: Fault[] = []
  const fail = (text: string, causes: readonly (Fault | undefined)[] = []) =>
    faults.push({ path, text, causes: causes.filter((cause) => cause !== undefined) })
  if ("not" in schema && apply(schema["not"], "not") === undefined) fail("'not' failed")
  const every = all("allOf")
  if (every.some((fault) => fault !== undefined)) fail("'allOf' failed", every)
  const any = all("anyOf")
  if (any.length > 0 && any.every((fault) => fault !== undefined)) fail("'anyOf' failed", any)
  const one = all("oneOf")
  const matched = [...one.keys()].filter((i) => one[i] === undefined)
  if (one.length > 0 && matched.length === 0) fail("'oneOf' failed, none matched", one)
  if (matched.length > 1) fail(`'oneOf' failed, subschemas ${count(matched[0]!)}, ${count(matched[1]!)} matched`)
  if (version >= 7 && "if" in schema) {
    const branch = apply(schema["if"], "if") === undefined ? "then" : "else"
    const fault = branch in schema ? apply(schema[branch], branch) : undefined
    if (fault !== undefined) faults.push(fault)
  }
  return faults
}

/** Returns what the keywords find wrong that are about what no other keyword has looked at. */
export function unevaluatedFaults(application: Application, value: unknown): readonly Fault[] {
  const { schema, seen, evaluation } = application
  if (seen === undefined) return []
  const faults: Fault[] = []
  const apply = (keyword: string, item: unknown, step: string) => {
    const fault = evaluation.below(application, [keyword], schema[keyword], item, step)
    if (fault !== undefined) faults.push(fault)
  }
  if (isMap(value) && "unevaluatedProperties" in schema)
    for (const [name, item] of Object.entries(value)) {
      if (!seen.properties.has(name)) apply("unevaluatedProperties", item, name)
      seen.properties.add(name)
    }
  if (Array.isArray(value) && "unevaluatedItems" in schema)
    for (const [i, item] of value.entries()) {
      if (!seen.items.has(i)) apply("unevaluatedItems", item, String(i))
      seen.items.add(i)
    }
  return faults
}
