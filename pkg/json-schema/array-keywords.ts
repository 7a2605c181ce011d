import { isMap } from "./drafts.ts"
import type { Application } from "./application.ts"
import { count, type Fault } from "./faults.ts"
import { canonical } from "./same-json.ts"
import { size } from "./scalar-keywords.ts"
import type { Work } from "./work.ts"

/** Returns what keywords about lists find wrong with one. */
export function arrayFaults(application: Application, value: readonly unknown[]): readonly Fault[] {
  const { schema, path, evaluation } = application
  const faults: Fault[] = []
  const add = (text: string) => faults.push({ path, text, causes: [] })
  const [least, most] = [size(schema["minItems"]), size(schema["maxItems"])]
  if (least !== undefined && value.length < least) add(`minItems: got ${count(value.length)}, want ${count(least)}`)
  if (most !== undefined && value.length > most) add(`maxItems: got ${count(value.length)}, want ${count(most)}`)
  if (schema["uniqueItems"] === true) {
    const twins = equalItems(value, evaluation.work)
    if (twins !== undefined) add(`items at ${count(twins[0])} and ${count(twins[1])} are equal`)
  }
  return [...faults, ...itemFaults(application, value), ...containsFaults(application, value)]
}

function equalItems(value: readonly unknown[], work: Work): readonly [number, number] | undefined {
  const known = new Map<string, number>()
  for (const [i, item] of value.entries()) {
    const text = canonical(item, work)
    work.read(text.length)
    const first = known.get(text)
    if (first !== undefined) return [first, i]
    known.set(text, i)
  }
  return undefined
}

/**
 * Applies the schemas for items by their places, and the one for the rest. Differs from upstream: an item of the
 * rest is told by its place in the list, and not by that after `prefixItems`.
 */
function itemFaults(application: Application, value: readonly unknown[]): readonly Fault[] {
  const { schema, node, path, seen, evaluation } = application
  const is2020 = node.resource.draft.version >= 2020
  const placedKeyword = is2020 ? "prefixItems" : "items"
  const restKeyword = is2020 || !Array.isArray(schema["items"]) ? "items" : "additionalItems"
  const placed: readonly unknown[] = Array.isArray(schema[placedKeyword]) ? schema[placedKeyword] : []
  const rest = schema[restKeyword]
  const faults: Fault[] = []
  const apply = (i: number, steps: readonly string[], inner: unknown) => {
    seen?.items.add(i)
    const fault = evaluation.below(application, steps, inner, value[i], String(i))
    if (fault !== undefined) faults.push(fault)
  }
  for (const [i, inner] of placed.slice(0, value.length).entries()) apply(i, [placedKeyword, String(i)], inner)
  const further = value.length - placed.length
  if (rest === false && restKeyword === "additionalItems") {
    if (further > 0) faults.push({ path, text: `last ${count(further)} additionalItem(s) not allowed`, causes: [] })
  } else if (isMap(rest) || typeof rest === "boolean")
    for (let i = placed.length; i < value.length; i++) apply(i, [restKeyword], rest)
  return faults
}

function containsFaults(application: Application, value: readonly unknown[]): readonly Fault[] {
  const { schema, node, path, seen, evaluation } = application
  const { version } = node.resource.draft
  if (version < 6 || !("contains" in schema)) return []
  const matched: number[] = []
  const causes: Fault[] = []
  for (const [i, item] of value.entries()) {
    const fault = evaluation.below(application, ["contains"], schema["contains"], item, String(i))
    if (fault !== undefined) causes.push(fault)
    else {
      matched.push(i)
      if (version >= 2020) seen?.items.add(i)
    }
  }
  const bounds = version >= 2019 ? [size(schema["minContains"]), size(schema["maxContains"])] : []
  const [least, most] = bounds
  const faults: Fault[] = []
  const found = () => `matched ${count(matched.length)} items at ${matched.join(" ")}`
  if (least === undefined ? matched.length === 0 : matched.length < least) {
    const wanted = least === undefined ? "" : `min ${count(least)} items required to match contains schema, but `
    const text =
      least === undefined
        ? "no items match contains schema"
        : wanted + (matched.length === 0 ? "none matched" : found())
    faults.push({ path, text, causes })
  }
  if (most !== undefined && matched.length > most) {
    const text = `max ${count(most)} items required to match contains schema, but ${found()}`
    faults.push({ path, text, causes: [] })
  }
  return faults
}
