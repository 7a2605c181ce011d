import { deepEqualWithNulls } from "../../json/equal.ts"
import { LEAF, NOTHING, SELF, isEmpty, nodeOf, without, type FieldSet } from "./fieldset.ts"
import { isJsonObject as isObject } from "../../json/json-value.ts"
import { allAdded, allOf, emptyLike, isThere, type Values } from "./new-fields.ts"
import { elementAt, fieldsOf, itemOf, otherOf, type ListShape, type Shape } from "./shape.ts"

/**
 * Compares two objects, and returns what changed as sets of field paths. Immutable objects share unchanged parts, which
 * are skipped by reference, so a small change costs little whatever the size of the object. Source:
 * structured-merge-diff typed/{compare,tofieldset}.go.
 */
export interface Comparison {
  /** Fields that were added, or are in both objects with different values. */
  readonly changed: FieldSet
  readonly removed: FieldSet
}

/** Compares in both directions in one walk: a removed field is one that would be added in the other direction. */
export function compare(shape: Shape, before: unknown, after: unknown): Comparison {
  const { changed = NOTHING, removed = NOTHING } = differ(shape, before, after) ?? SAME
  return { changed, removed }
}

interface Difference {
  readonly changed: FieldSet | undefined
  readonly removed: FieldSet | undefined
}
const SAME: Difference = { changed: undefined, removed: undefined }
const CHANGED: Difference = { changed: LEAF, removed: undefined }

/** Returns undefined when the values are equal. */
function differ(shape: Shape, before: unknown, after: unknown): Difference | undefined {
  if (before === after) return undefined
  if (!isThere(before)) {
    if (!isThere(after)) return undefined
    const all = allAdded(shape, after)
    // Null in place of an empty list: the list itself existed before.
    return { changed: before === null && shape.kind === "list" ? without(all, [[SELF]]) : all, removed: undefined }
  }
  if (!isThere(after)) return { changed: undefined, removed: allOf(shape, before) }
  switch (shape.kind) {
    case "leaf":
      break
    case "set":
    case "list":
      if (Array.isArray(before) && Array.isArray(after)) return differInItems(shape, before, after)
      break
    default:
      if (isObject(before) && isObject(after)) return differInFields(shape, before, after)
  }
  return deepEqualWithNulls(before, after) ? undefined : CHANGED
}

function differInFields(shape: Shape, before: Values, after: Values): Difference {
  const fields = fieldsOf(shape)
  const other = otherOf(shape)
  const out = new Differences()
  let kept = 0
  for (const name in after) {
    const old = before[name]
    const value = after[name]
    if (value === undefined) continue
    if (old !== undefined) kept++
    if (old === value) continue
    const field = fields?.get(name)
    if (value === null)
      out.add(field?.element ?? `f:${name}`, old === undefined && field?.always === true ? undefined : CHANGED)
    else if (field === undefined) out.add(`f:${name}`, differ(other, old, value))
    else out.add(field.element, differ(field.shape, field.always && old === undefined ? emptyLike(value) : old, value))
  }
  // Usually nothing was removed.
  if (kept === Object.keys(before).length) return out
  for (const name in before) {
    const old = before[name]
    const value = after[name]
    if (!isThere(old) || value !== undefined) continue
    const field = fields?.get(name)
    if (field === undefined) out.add(`f:${name}`, differ(other, old, value))
    else out.add(field.element, differ(field.shape, old, field.always ? emptyLike(old) : value))
  }
  return out
}

/** The differences of the parts of a value. */
class Differences implements Difference {
  changed: Record<string, FieldSet> | undefined
  removed: Record<string, FieldSet> | undefined

  add(element: string, found: Difference | undefined): void {
    if (found?.changed !== undefined) (this.changed ??= {})[element] = found.changed
    if (found?.removed !== undefined) (this.removed ??= {})[element] = found.removed
  }
}

function differInItems(shape: ListShape, before: readonly unknown[], after: readonly unknown[]): Difference {
  const out = new Differences()
  const item = itemOf(shape)
  const common = alignedElements(shape, before, after)
  if (common !== undefined)
    for (let i = 0; i < common.length; i++) out.add(common[i]!, differ(item, before[i], after[i]))
  else {
    const old = indexed(shape, before)
    const now = indexed(shape, after)
    for (const [element, items] of now) out.add(element, differInSame(item, old.get(element) ?? NO_ITEMS, items))
    for (const [element, items] of old) if (!now.has(element)) out.add(element, differInSame(item, items, NO_ITEMS))
  }
  return out
}
const NO_ITEMS: readonly unknown[] = []

/** Compares items with the same path element in both lists. Elements that occur twice are owned as one. */
function differInSame(item: Shape, before: readonly unknown[], after: readonly unknown[]): Difference | undefined {
  if (before.length < 2 && after.length < 2) return differ(item, before[0], after[0])
  if (before.length > 1 && after.length > 1) return deepEqualWithNulls(before, after) ? undefined : CHANGED
  if (after.length > 1) return { changed: LEAF, removed: before.length === 0 ? undefined : allOf(item, before[0]) }
  return { changed: after.length === 0 ? undefined : allOf(item, after[0]), removed: LEAF }
}

/** Longer lists are compared by an index. */
const MOST_ALIGNED = 16

/**
 * Returns the path elements if both lists have the same ones in the same order and none twice. This is the usual case,
 * since most changes are inside an item.
 */
function alignedElements(
  shape: ListShape,
  before: readonly unknown[],
  after: readonly unknown[],
): readonly string[] | undefined {
  if (before.length !== after.length || after.length > MOST_ALIGNED) return undefined
  const elements: string[] = []
  for (let i = 0; i < after.length; i++) {
    const element = elementAt(shape, after, i)
    if ((before[i] !== after[i] && elementAt(shape, before, i) !== element) || elements.includes(element))
      return undefined
    elements.push(element)
  }
  return elements
}

/** Returns items by path element; items without keys by index. */
function indexed(shape: ListShape, items: readonly unknown[]): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>()
  for (let i = 0; i < items.length; i++) {
    const element = elementAt(shape, items, i)
    const same = found.get(element)
    if (same === undefined) found.set(element, [items[i]])
    else same.push(items[i])
  }
  return found
}

/** Returns all fields that a configuration sets: leaves, list items, map keys, and empty objects. */
export const fieldSetOf = (shape: Shape, value: unknown): FieldSet => collect(shape, value) ?? NOTHING

/** Returns undefined when the value contains nothing that can be owned (an empty list, a struct of such). */
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
  const fields = fieldsOf(shape)
  const other = otherOf(shape)
  const out: Record<string, FieldSet> = {}
  for (const name in value) {
    const given = value[name]
    const field = fields?.get(name)
    if (given === undefined) continue
    if (given === null) {
      out[`f:${name}`] = LEAF
      continue
    }
    const inner = collect(field?.shape ?? other, given)
    const member = field === undefined || (isObject(given) && isEmpty(given as FieldSet))
    if (inner === undefined) {
      if (member) out[`f:${name}`] = LEAF
    } else out[`f:${name}`] = member && !isEmpty(inner) ? { [SELF]: LEAF, ...inner } : inner
  }
  return nodeOf(out)
}
