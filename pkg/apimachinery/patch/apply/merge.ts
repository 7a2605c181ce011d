import { deepEqual } from "../../json/equal.ts"
import { isJsonObject as isObject } from "../../json/json-value.ts"
import { RawJson } from "../../json/raw-json.ts"
import { LEAF, NOTHING, SELF, isMember, nodeOf, type FieldSet } from "./fieldset.ts"
import { ANY, elementOf, type Shape } from "./shape.ts"

/**
 * Merges an applied configuration into an object, and removes fields from an object. Source: structured-merge-diff
 * typed/{merge,remove}.go.
 */
type Values = Readonly<Record<string, unknown>>

/**
 * Returns `live` with the fields that `config` sets; other parts are shared with `live`. Null is a value like others,
 * but does not remove a list or an object whose parts are owned separately.
 */
export function mergeInto(shape: Shape, live: unknown, config: unknown): unknown {
  if (config === undefined) return live
  if (config === null) return hasParts(shape, live) ? live : null
  if (live === undefined || live === null || live === config) return config
  switch (shape.kind) {
    case "leaf":
      // The original text stays when the configuration has the same value in another notation.
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

/** Returns the shape of one field of an object. */
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
 * Merges two lists: items of the configuration are in its order, and live items that it does not name keep their places
 * between them.
 */
function mergeLists(
  shape: Shape & { kind: "list" | "set" },
  live: readonly unknown[],
  config: readonly unknown[],
): readonly unknown[] {
  const elements = (items: readonly unknown[]): string[] => items.map((item, i) => elementOf(shape, item) ?? `i:${i}`)
  const [left, right] = [elements(live), elements(config)]
  const leftAt = new Map<string, number>()
  // A live item that occurs twice is not merged but replaced.
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
      // An item of both lists that is not next in the configuration's order: it is placed when its turn comes.
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

/**
 * Returns `value` without the paths in `set`; undefined when nothing is left. What is inside of it stays, emptied, unless
 * it is in the set itself. Source: typed/remove.go.
 */
export function removeFields(shape: Shape, value: unknown, set: FieldSet): unknown {
  if (shape.kind === "list" || shape.kind === "set") {
    if (!Array.isArray(value)) return undefined
    const kept = value.flatMap((item: unknown, i): unknown[] => {
      const node = set[elementOf(shape, item) ?? `i:${i}`]
      if (node === undefined) return [item]
      if (isMember(node)) return []
      return [shape.kind === "list" ? (removeFields(shape.of(), item, node) ?? emptied(item)) : item]
    })
    return kept.length === 0 ? undefined : kept
  }
  if (shape.kind === "leaf" || !isObject(value)) return undefined
  const out: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(value)) {
    const node = set[`f:${name}`]
    if (node !== undefined && isMember(node)) continue
    const kept = node === undefined ? inner : (removeFields(childOf(shape, name), inner, node) ?? emptied(inner))
    Object.defineProperty(out, name, { value: kept, enumerable: true, writable: true, configurable: true })
  }
  return Object.keys(out).length === 0 ? undefined : out
}

const emptied = (value: unknown): unknown => (Array.isArray(value) ? [] : isObject(value) ? {} : value)

/**
 * Adds every declared field on the way to a member to the set, so that a struct is removed when all its fields are.
 * Source: EnsureNamedFieldsAreMembers.
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
