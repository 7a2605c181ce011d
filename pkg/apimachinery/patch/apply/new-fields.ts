/** The fields of a new object, or of a new part of one. The manager that creates it owns all of them. */
import { isSmall } from "../../../cache/is-small.ts"
import { deepEqual } from "../../json/equal.ts"
import { isJsonObject as isObject } from "../../json/json-value.ts"
import { jsonValue } from "../../json/set-key.ts"
import { LEAF, NOTHING, SELF, isEmpty, nodeOf, type FieldSet } from "./fieldset.ts"
import { elementAt, fieldsOf, itemOf, otherOf, type ListShape, type Shape } from "./shape.ts"

export type Values = Readonly<Record<string, unknown>>
export const isThere = (value: unknown): boolean => value !== undefined && value !== null

/**
 * Returns the zero value of the type of `value`. An object that lacks a field which Go holds by value is compared as if
 * it had this zero.
 */
export function emptyLike(value: unknown): unknown {
  if (typeof value === "object") return value === null ? null : Array.isArray(value) ? NO_ITEMS : NO_FIELDS
  return typeof value === "string" ? "" : typeof value === "number" ? 0 : false
}
const NO_ITEMS: readonly unknown[] = []
const NO_FIELDS: Values = {}
/** Whether a value is the zero of its Go type. The zero of a list is null, not a list without items. */
const isNothing = (value: unknown): boolean =>
  value === null ||
  value === "" ||
  value === 0 ||
  value === false ||
  (typeof value === "object" && !Array.isArray(value) && deepEqual(value, emptyLike(value)))

/**
 * Returns every field of a new object. When the result, or a part of it, equals `previous`, the set of another object,
 * that set is returned: most objects of a kind that one manager creates have the same fields, and so share one set.
 */
export const fieldsOfNew = (shape: Shape, object: object, previous: FieldSet = NOTHING): FieldSet =>
  inside(shape, object, previous) ?? NOTHING

/**
 * Whether `fieldsOfNew` returns equal sets for two objects. Only names are compared, which is enough for nearly all
 * Events; objects with lists count as different, since items are identified by their values.
 */
export function haveSameFields(a: unknown, b: unknown): boolean {
  if (a === b) return true
  // A zero is not always owned.
  if (typeof a !== "object" || typeof b !== "object") return typeof a === typeof b && isNothing(a) === isNothing(b)
  if (!isObject(a) || !isObject(b)) return false
  let fields = 0
  for (const name in b) {
    const own = jsonValue(a, name)
    if (own === undefined || b[name] === undefined || !haveSameFields(own, b[name])) return false
    fields++
  }
  return fields === Object.keys(a).length
}

/** Whether a value has lists, which `haveSameFields` does not compare. */
export const hasLists = (value: unknown): boolean =>
  typeof value === "object" && value !== null && (Array.isArray(value) || Object.values(value).some(hasLists))

/** Returns the fields inside a value that is never absent, so that the value itself is not new. */
function inside(shape: Shape, value: unknown, previous: FieldSet): FieldSet | undefined {
  if (isAllOf(shape, value, previous, true)) return previous
  const out: Record<string, FieldSet> = {}
  if ((shape.kind === "list" || shape.kind === "set") && Array.isArray(value)) addItems(shape, value, previous, out)
  else if (shape.kind !== "leaf" && isObject(value)) addFields(shape, value, previous, out, inside)
  else return isNothing(value) ? undefined : LEAF
  return nodeOf(out)
}

/** Returns the fields of a value that did not exist before: itself, and all in it. */
export function allOf(shape: Shape, value: unknown, previous: FieldSet = LEAF): FieldSet {
  if (isAllOf(shape, value, previous)) return previous
  const out: Record<string, FieldSet> = { [SELF]: LEAF }
  if (shape.kind === "list" || shape.kind === "set") {
    if (Array.isArray(value)) addItems(shape, value, previous, out)
  } else if (shape.kind !== "leaf" && isObject(value)) addFields(shape, value, previous, out, allOf)
  return nodeOf(out) ?? LEAF
}

/**
 * The last set of each shape, unless it is large; a pod's conditions and its statuses have the same fields as those of
 * the next pod.
 */
const lastAdded = new WeakMap<Shape, FieldSet>()
/** In characters. */
const LARGEST_KEPT = 65_536

/**
 * Does the same as `allOf` for a value that a change added: parts that equal those of the last value of that shape
 * share its set.
 */
export function allAdded(shape: Shape, value: unknown): FieldSet {
  if (shape.kind !== "struct" && shape.kind !== "list") return allOf(shape, value)
  const last = lastAdded.get(shape)
  const set = allOf(shape, value, last)
  if (set !== LEAF && set !== last && isSmall(set, LARGEST_KEPT)) lastAdded.set(shape, set)
  return set
}

function addFields(
  shape: Shape,
  value: Values,
  previous: FieldSet,
  out: Record<string, FieldSet>,
  always: typeof inside,
): void {
  const fields = fieldsOf(shape)
  const other = otherOf(shape)
  for (const name in value) {
    const given = value[name]
    const field = fields?.get(name)
    if (given === undefined) continue
    const element = field?.element ?? `f:${name}`
    const found = (field?.always === true ? always : allOf)(field?.shape ?? other, given, previous[element] ?? LEAF)
    if (found !== undefined) out[element] = found
  }
}

function addItems(
  shape: ListShape,
  items: readonly unknown[],
  previous: FieldSet,
  out: Record<string, FieldSet>,
): void {
  const item = itemOf(shape)
  // Most items of a list have the same fields, and so share one set.
  let last = LEAF
  for (let i = 0; i < items.length; i++) {
    const element = elementAt(shape, items, i)
    if (out[element] !== undefined) out[element] = LEAF
    else out[element] = last = allOf(item, items[i], previous[element] ?? last)
  }
}

/** Whether `allOf`, or `inside`, would return a set equal to `set`; allocates nothing. */
function isAllOf(shape: Shape, value: unknown, set: FieldSet, isInside = false): boolean {
  let parts = 0
  if (shape.kind === "list" || shape.kind === "set") {
    if (!Array.isArray(value)) return isEmpty(set)
    const item = itemOf(shape)
    for (let i = 0; i < value.length; i++, parts++) {
      const inner = set[elementAt(shape, value, i)]
      if (inner === undefined || !isAllOf(item, value[i], inner)) return false
    }
  } else {
    if (shape.kind === "leaf" || !isObject(value)) return isEmpty(set) && !(isInside && isNothing(value))
    const fields = fieldsOf(shape)
    const other = otherOf(shape)
    for (const name in value) {
      const given = value[name]
      const field = fields?.get(name)
      if (given === undefined) continue
      const inner = set[field?.element ?? `f:${name}`]
      const always = isInside && field?.always === true
      if (inner === undefined) {
        if (always && isNothing(given)) continue
        return false
      }
      if (
        typeof given === "object"
          ? !isAllOf(field?.shape ?? other, given, inner, always)
          : !isEmpty(inner) || (always && isNothing(given))
      )
        return false
      parts++
    }
  }
  if (isInside) return parts > 0 && sizeOf(set) === parts
  return parts === 0 ? isEmpty(set) : set[SELF] !== undefined && sizeOf(set) === parts + 1
}

const sizeOf = (set: FieldSet): number => Object.keys(set).length
