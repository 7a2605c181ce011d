import { deepEqual, deepEqualWithNulls } from "../../json/equal.ts"
import { LEAF, NOTHING, SELF, isEmpty, nodeOf, without, type FieldSet } from "./fieldset.ts"
import { isJsonObject as isObject } from "../../json/json-value.ts"
import { jsonValue } from "../../json/set-key.ts"
import { allAdded, allOf, emptyLike, isThere, type Values } from "./new-fields.ts"
import { elementAt, fieldsOf, identitiesOf, itemOf, otherOf, type ListShape, type Shape } from "./shape.ts"

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
    const old = jsonValue(before, name)
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
    const value = jsonValue(after, name)
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

  addItem(shape: ListShape, items: readonly unknown[], i: number, found: Difference | undefined): void {
    if (found !== undefined) this.add(elementAt(shape, items, i), found)
  }

  add(element: string, found: Difference | undefined): void {
    if (found?.changed !== undefined) (this.changed ??= {})[element] = found.changed
    if (found?.removed !== undefined) (this.removed ??= {})[element] = found.removed
  }
}

function differInItems(shape: ListShape, before: readonly unknown[], after: readonly unknown[]): Difference {
  const out = new Differences()
  const item = itemOf(shape)
  const common = alignedElements(shape, before, after)
  if (common !== undefined) {
    for (let i = 0; i < common.length; i++) out.add(common[i]!, differ(item, before[i], after[i]))
    return out
  }
  const [identities, own] = identitiesOf(shape, before, after)
  const old = indexed(identities!, before)
  const now = indexed(own!, after)
  // An item that is twice in a list is owned as one.
  const differenceOf = (identity: unknown): Difference | undefined =>
    differInSame(item, itemsAt(old, before, identity), itemsAt(now, after, identity))
  for (const [identity, i] of now.at) out.addItem(shape, after, i, differenceOf(identity))
  for (const [identity, i] of old.at) if (!now.at.has(identity)) out.addItem(shape, before, i, differenceOf(identity))
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

/** The items of a list by what tells them apart. */
interface Indexed {
  /** The first index of each. */
  readonly at: ReadonlyMap<unknown, number>
  /** Those that are in the list more than once; undefined for none, as in nearly every list. */
  readonly several: ReadonlyMap<unknown, readonly unknown[]> | undefined
}

function indexed(identities: readonly unknown[], items: readonly unknown[]): Indexed {
  const at = new Map<unknown, number>()
  let several: Map<unknown, unknown[]> | undefined
  for (let i = 0; i < items.length; i++) {
    const identity = identities[i]
    const first = at.get(identity)
    if (first === undefined) {
      at.set(identity, i)
      continue
    }
    several ??= new Map()
    const same = several.get(identity)
    if (same === undefined) several.set(identity, [items[first], items[i]])
    else same.push(items[i])
  }
  return { at, several }
}

function itemsAt({ at, several }: Indexed, items: readonly unknown[], identity: unknown): readonly unknown[] {
  const i = at.get(identity)
  return i === undefined ? NO_ITEMS : (several?.get(identity) ?? [items[i]])
}

/** Returns all fields that a configuration sets: leaves, list items, map keys, and empty objects. */
export const fieldSetOf = (shape: Shape, value: unknown): FieldSet => collect(shape, value) ?? NOTHING

/** Returns undefined when the value contains nothing that can be owned (an empty list, a struct of such). */
function collect(shape: Shape, value: unknown): FieldSet | undefined {
  if (shape.kind === "leaf") return LEAF
  if (shape.kind === "list" || shape.kind === "set") {
    if (!Array.isArray(value)) return LEAF
    const out: Record<string, FieldSet> = {}
    const item = itemOf(shape)
    let last = LEAF
    for (let i = 0; i < value.length; i++) {
      const element = elementAt(shape, value, i)
      if (out[element] !== undefined || shape.kind === "set") {
        out[element] = LEAF
        continue
      }
      const inner = collect(item, value[i])
      const own = inner === undefined || isEmpty(inner) ? LEAF : { [SELF]: LEAF, ...inner }
      // Most items of a list have the same fields, and so share one set.
      out[element] = last = deepEqual(own, last) ? last : own
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
