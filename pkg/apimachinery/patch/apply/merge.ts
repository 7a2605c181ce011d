import { deepEqual } from "../../json/equal.ts"
import { isJsonObject as isObject } from "../../json/json-value.ts"
import { RawJson } from "../../json/raw-json.ts"
import { LEAF, NOTHING, SELF, isMember, nodeOf, type FieldSet } from "./fieldset.ts"
import { ANY, elementOf, identitiesOf, type Shape } from "./shape.ts"

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
  const [left, right] = identitiesOf(shape, live, config)
  /** The number of each item of both lists, in the order in which they come. */
  const numbers = new Map<unknown, number>()
  const numbered = (identities: readonly unknown[]) =>
    identities.map((identity) => {
      let number = numbers.get(identity)
      if (number === undefined) numbers.set(identity, (number = numbers.size))
      return number
    })
  const [lefts, rights] = [numbered(left!), numbered(right!)]
  const leftAt = new Int32Array(numbers.size).fill(ABSENT)
  const isRight = new Uint8Array(numbers.size)
  const isDone = new Uint8Array(numbers.size)
  // A live item that occurs twice is not merged but replaced.
  for (const [i, number] of lefts.entries()) leftAt[number] = leftAt[number] === ABSENT ? i : TWICE
  for (const number of rights) isRight[number] = 1
  const shared = rights.filter((number) => leftAt[number] !== ABSENT)
  let next = 0
  const out: unknown[] = []
  const take = (r: number): void => {
    const number = rights[r]!
    const l = leftAt[number]!
    isDone[number] = 1
    out.push(shape.kind === "list" ? mergeInto(shape.of(), l < 0 ? undefined : live[l], config[r]) : config[r])
    if (shared[next] === number) next++
  }
  let [l, r] = [0, 0]
  while (l < lefts.length || r < rights.length) {
    if (l < lefts.length) {
      const number = lefts[l]!
      if (r < rights.length && number === rights[r]) {
        take(r++)
        l++
        continue
      }
      // An item of both lists that is not next in the configuration's order: it is placed when its turn comes.
      if (r < rights.length && isRight[number] === 1 && next < shared.length && shared[next] !== number) {
        l++
        continue
      }
      if (isRight[number] === 0) {
        out.push(live[l++])
        continue
      }
      if (isDone[number] === 1) l++
    }
    if (r < rights.length) take(r++)
  }
  return out
}
const ABSENT = -1
const TWICE = -2

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
