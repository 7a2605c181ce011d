import { deepEqual } from "../../equal.ts"
import { LEAF, NOTHING, SELF, isEmpty, nodeOf, type FieldSet } from "./fieldset.ts"
import { ANY, elementOf, type Shape } from "./shape.ts"

/**
 * What of an object changed, as a set of field paths. Both objects are immutable and share what did not change, which is skipped by reference, so a small
 * change costs little whatever the size of the object. Source: structured-merge-diff typed/{compare,tofieldset}.go.
 */
export interface Comparison {
  /** Added, or present in both and different. */
  readonly changed: FieldSet
  readonly removed: FieldSet
}

export const compare = (shape: Shape, before: unknown, after: unknown): Comparison => ({
  changed: (walk(shape, before, after, true) ?? NOTHING),
  // What was removed is what would be added on the way back.
  removed: (walk(shape, after, before, false) ?? NOTHING),
})

type Values = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value)

/** What is in `after` and not in `before`; with `modified` also what is in both and differs. `after` is there. */
function walk(shape: Shape, before: unknown, after: unknown, modified: boolean): FieldSet | undefined {
  if (before === after) return undefined
  const added = before === undefined || before === null
  switch (shape.kind) {
    case "leaf": return leaf(before, after, added, modified)
    case "set":
    case "list":
      return Array.isArray(after) && (added || Array.isArray(before)) ? walkList(shape, (before ?? []) as readonly unknown[], after, added, modified) : leaf(before, after, added, modified)
    default: {
      if (!isObject(after) || !(added || isObject(before))) return leaf(before, after, added, modified)
      const out: Record<string, FieldSet> = {}
      if (added) out[SELF] = LEAF
      // An empty object is owned as one, else nothing would tell that it is there.
      walkObject(shape, (before ?? NO_FIELDS) as Values, after, { modified, added }, out)
      return nodeOf(out)
    }
  }
}

const leaf = (before: unknown, after: unknown, added: boolean, modified: boolean): FieldSet | undefined =>
  added || (modified && !deepEqual(before, after)) ? LEAF : undefined

function walkObject(shape: Shape, before: Values, after: Values, { modified, added }: { readonly modified: boolean; readonly added: boolean }, out: Record<string, FieldSet>): void {
  const fields = shape.kind === "struct" ? shape.fields() : undefined
  const other = shape.kind === "struct" ? (shape.rest ?? ANY) : shape.kind === "map" ? shape.of() : ANY
  for (const name in after) {
    const value = after[name]
    if (value === undefined || value === null) continue
    const field = fields?.get(name)
    let old = before[name]
    if (old === value) continue
    if (field === undefined) {
      const found = walk(other, old, value, modified)
      if (found !== undefined) out[`f:${name}`] = found
      continue
    }
    // What Go holds by value is there in an object that is, however empty; not in one that is new itself.
    if (field.always && old === undefined && !added) old = Array.isArray(value) ? NO_ITEMS : NO_FIELDS
    const found = walk(field.shape, old, value, modified)
    if (found !== undefined) out[field.element] = found
  }
}
const NO_ITEMS: readonly unknown[] = []
const NO_FIELDS: Values = {}

function walkList(shape: Shape & { kind: "list" | "set" }, before: readonly unknown[], after: readonly unknown[], added: boolean, modified: boolean): FieldSet | undefined {
  const out: Record<string, FieldSet> = {}
  if (added) out[SELF] = LEAF
  if (before.length === 0) return addItems(shape, after, modified, out)
  const old = indexed(shape, before)
  for (const [element, items] of indexed(shape, after)) {
    const previous = old.get(element) ?? NO_ITEMS
    // Items that occur twice are owned as one.
    const found = items.length > 1
      ? previous.length > 1 ? (modified && !deepEqual(previous, items) ? LEAF : undefined) : LEAF
      : walk(shape.kind === "list" ? shape.of() : LEAF_SHAPE, previous.length === 1 ? previous[0] : undefined, items[0], modified)
    if (found !== undefined) out[element] = found
  }
  return nodeOf(out)
}
const LEAF_SHAPE: Shape = { kind: "leaf" }

/** The items of a list in which there were none: nothing has to be looked for. */
function addItems(shape: Shape & { kind: "list" | "set" }, items: readonly unknown[], modified: boolean, out: Record<string, FieldSet>): FieldSet | undefined {
  const item = shape.kind === "list" ? shape.of() : LEAF_SHAPE
  for (let i = 0; i < items.length; i++) {
    const element = elementOf(shape, items[i]) ?? `i:${i}`
    const found = out[element] === undefined ? walk(item, undefined, items[i], modified) : LEAF
    if (found !== undefined) out[element] = found
  }
  return nodeOf(out)
}

/** Items by their path element; those without keys by index. */
function indexed(shape: Shape & { kind: "list" | "set" }, items: readonly unknown[]): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>()
  for (let i = 0; i < items.length; i++) {
    const element = elementOf(shape, items[i]) ?? `i:${i}`
    const same = found.get(element)
    if (same === undefined) found.set(element, [items[i]])
    else same.push(items[i])
  }
  return found
}

/** Everything a configuration sets: leaves, list items, keys of maps, and objects that are empty. */
export const fieldSetOf = (shape: Shape, value: unknown): FieldSet => collect(shape, value) ?? NOTHING

/** Undefined where the value holds nothing that is owned (an empty list, a struct of such). */
function collect(shape: Shape, value: unknown): FieldSet | undefined {
  if (shape.kind === "leaf") return LEAF
  if (shape.kind === "list" || shape.kind === "set") {
    if (!Array.isArray(value)) return LEAF
    const out: Record<string, FieldSet> = {}
    for (const [element, items] of indexed(shape, value)) {
      const inner = items.length > 1 || shape.kind === "set" ? undefined : collect(shape.of(), items[0])
      out[element] = inner === undefined || isEmpty(inner) ? LEAF : { [SELF]: LEAF, ...inner }
    }
    return nodeOf(out)
  }
  if (!isObject(value)) return LEAF
  const fields = shape.kind === "struct" ? shape.fields() : undefined
  const other = shape.kind === "struct" ? (shape.rest ?? ANY) : shape.kind === "map" ? shape.of() : ANY
  const out: Record<string, FieldSet> = {}
  for (const name in value) {
    const given = value[name]
    if (given === undefined || given === null) continue
    const field = fields?.get(name)
    const inner = collect(field?.shape ?? other, given)
    const member = field === undefined || (isObject(given) && isEmpty(given as FieldSet))
    if (inner === undefined) {
      if (member) out[`f:${name}`] = LEAF
    } else out[`f:${name}`] = member && !isEmpty(inner) ? { [SELF]: LEAF, ...inner } : inner
  }
  return nodeOf(out)
}
