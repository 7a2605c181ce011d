import { deepEqual } from "../../equal.ts"
import { isJsonObject as isObject } from "../../json-value.ts"
import { RawJson } from "../../raw-json.ts"
import { LEAF, NOTHING, SELF, isMember, nodeOf, type FieldSet } from "./fieldset.ts"
import { ANY, elementOf, type Shape } from "./shape.ts"

/**
 * Merging an applied configuration into an object, and taking fields out of one. Source: structured-merge-diff
 * typed/{merge,remove}.go.
 */
type Values = Readonly<Record<string, unknown>>

/**
 * `live` with what `config` sets; parts that `config` does not speak of are shared with `live`. Null is a value like
 * others, but it takes nothing away from a list or an object that is owned part by part.
 */
export function mergeInto(shape: Shape, live: unknown, config: unknown): unknown {
  if (config === undefined) return live
  if (config === null) return hasParts(shape, live) ? live : null
  if (live === undefined || live === null || live === config) return config
  switch (shape.kind) {
    case "leaf":
      // The text stays as it is where the configuration says the same in other words.
      return live instanceof RawJson && deepEqual(live.value, config) ? live : config
    case "set":
    case "list":
      return Array.isArray(live) && Array.isArray(config) ? mergeLists(shape, live, config) : config
    default:
      return isObject(live) && isObject(config) ? mergeObjects(shape, live, config) : config
  }
}

function hasParts(shape: Shape, value: unknown): boolean {
  if (shape.kind === "leaf") return false
  if (shape.kind === "list" || shape.kind === "set") return Array.isArray(value) && value.length > 0
  return isObject(value) && Object.keys(value).length > 0
}

/** The shape of one field of an object. */
function childOf(shape: Shape, name: string): Shape {
  if (shape.kind === "struct") return shape.fields().get(name)?.shape ?? shape.rest ?? ANY
  return shape.kind === "map" ? shape.of() : ANY
}

function mergeObjects(shape: Shape, live: Values, config: Values): Values {
  const out: Record<string, unknown> = { ...live }
  for (const name in config) {
    const merged = mergeInto(childOf(shape, name), Object.hasOwn(live, name) ? live[name] : undefined, config[name])
    if (merged !== undefined)
      Object.defineProperty(out, name, { value: merged, enumerable: true, writable: true, configurable: true })
  }
  return out
}

/**
 * Items of both in one order: that of the configuration for those it names, with the live ones it does not name kept
 * where they stood between them.
 */
function mergeLists(
  shape: Shape & { kind: "list" | "set" },
  live: readonly unknown[],
  config: readonly unknown[],
): readonly unknown[] {
  const elements = (items: readonly unknown[]): string[] => items.map((item, i) => elementOf(shape, item) ?? `i:${i}`)
  const [left, right] = [elements(live), elements(config)]
  const leftAt = new Map<string, number>()
  // A live item that occurs twice is not merged with, but replaced.
  left.forEach((element, i) => leftAt.set(element, leftAt.has(element) ? -1 : i))
  const rightAt = new Map(right.map((element, i) => [element, i]))
  const shared = right.filter((element) => leftAt.has(element))
  let next = 0
  const out: unknown[] = []
  const done = new Set<string>()
  const take = (r: number): void => {
    const element = right[r]!
    const l = leftAt.get(element) ?? -1
    const before = l === -1 ? undefined : live[l]
    done.add(element)
    out.push(shape.kind === "list" ? mergeInto(shape.of(), before, config[r]) : config[r])
    if (shared[next] === element) next++
  }
  let [l, r] = [0, 0]
  while (l < left.length || r < right.length) {
    if (l < left.length) {
      const element = left[l]!
      if (r < right.length && element === right[r]) {
        take(r++)
        l++
        continue
      }
      // Shared, but not the one whose turn it is: it comes where the configuration has it.
      if (r < right.length && rightAt.has(element) && next < shared.length && shared[next] !== element) {
        l++
        continue
      }
      if (!rightAt.has(element)) {
        out.push(live[l++])
        continue
      }
      if (done.has(element)) l++
    }
    if (r < right.length) take(r++)
  }
  return out
}

/** `value` without the paths in `set`; undefined when nothing of it is left. */
export function removeFields(shape: Shape, value: unknown, set: FieldSet): unknown {
  if (shape.kind === "list" || shape.kind === "set") {
    if (!Array.isArray(value)) return undefined
    const kept = value.flatMap((item: unknown, i): unknown[] => {
      const node = set[elementOf(shape, item) ?? `i:${i}`]
      if (node === undefined) return [item]
      if (isMember(node)) return []
      return [shape.kind === "list" ? (removeFields(shape.of(), item, node) ?? {}) : item]
    })
    return kept.length === 0 ? undefined : kept
  }
  if (shape.kind === "leaf" || !isObject(value)) return undefined
  const out: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(value)) {
    const node = set[`f:${name}`]
    if (node !== undefined && isMember(node)) continue
    const kept = node === undefined ? inner : removeFields(childOf(shape, name), inner, node)
    if (kept !== undefined)
      Object.defineProperty(out, name, { value: kept, enumerable: true, writable: true, configurable: true })
  }
  return Object.keys(out).length === 0 ? undefined : out
}

/**
 * The set with every declared field that leads to a member made a member too, so that a struct goes when all of it
 * does. Source: EnsureNamedFieldsAreMembers.
 */
export function withNamedFields(shape: Shape, set: FieldSet, root = true): FieldSet {
  const out: Record<string, FieldSet> = {}
  if (!root && isMember(set)) out[SELF] = LEAF
  for (const [element, node] of Object.entries(set)) {
    if (element === SELF) continue
    const name = element.slice(2)
    const field = element.startsWith("f:") && shape.kind === "struct" ? shape.fields().get(name) : undefined
    const inner = element.startsWith("f:") ? childOf(shape, name) : shape.kind === "list" ? shape.of() : ANY
    const child = withNamedFields(inner, node, false)
    out[element] = field === undefined || isMember(child) ? child : { [SELF]: LEAF, ...child }
  }
  return nodeOf(out) ?? NOTHING
}
