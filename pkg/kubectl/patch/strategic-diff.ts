import { deepEqual } from "../../apimachinery/json/equal.ts"
import { isJsonObject as isObject } from "../../apimachinery/json/json-value.ts"
import { goText, goType } from "../../apimachinery/go/go-text.ts"
import { arranged } from "../../apimachinery/patch/strategic.ts"
import type { FieldMeta, PatchMeta } from "./patch-meta.ts"

type Values = Readonly<Record<string, unknown>>
type Patch = Record<string, unknown>

/** Which differences become part of a patch. */
export interface DiffOptions {
  /** Whether values that `modified` adds or changes do. */
  readonly changes: boolean
  /** Whether values that `modified` no longer has do. */
  readonly deletions: boolean
  /** Whether the patch tells the order of the items of merged lists. */
  readonly order: boolean
}

/**
 * Returns the strategic merge patch that makes `modified` of `original`; it is empty when they are equal. Source:
 * apimachinery pkg/util/strategicpatch/patch.go diffMaps.
 * @throws Error when a field of a value that differs is unknown, or an item has no merge key
 */
export function strategicDiff(original: Values, modified: Values, fields: PatchMeta, options: DiffOptions): Patch {
  return diffObjects(original, modified, { fields, retainKeys: false }, options)
}

function diffObjects(
  original: Values,
  modified: Values,
  { fields, retainKeys }: Pick<FieldMeta, "fields" | "retainKeys">,
  options: DiffOptions,
): Patch {
  const patch: Patch = {}
  for (const [key, value] of Object.entries(modified)) {
    const before = Object.hasOwn(original, key) ? original[key] : undefined
    if (key === "$patch" && before !== undefined) {
      if (typeof before !== "string" || typeof value !== "string")
        throw new Error("invalid value for special key: $patch")
      if (before !== value) patch[key] = value
    } else if (before === undefined || goType(before) !== goType(value)) {
      if (options.changes) patch[key] = value
    } else if (isObject(value)) diffField(patch, key, before as Values, value, fields, options)
    else if (Array.isArray(value)) diffListField(patch, key, before as readonly unknown[], value, fields, options)
    else if (options.changes && before !== value) patch[key] = value
  }
  const gone = Object.keys(original).filter((key) => !Object.hasOwn(modified, key))
  if (options.deletions) for (const key of gone) patch[key] = null
  const kept = retainKeys ? Object.keys(modified).filter((key) => modified[key] !== null) : []
  if (kept.length > 0 && (Object.keys(patch).length > 0 || gone.some((key) => original[key] !== null)))
    patch["$retainKeys"] = kept.sort()
  return patch
}

/** Returns what is known of a field; undefined when nothing is, and the values need no patch. */
function metaOf(key: string, before: unknown, value: unknown, fields: PatchMeta): FieldMeta | undefined {
  try {
    return fields.of(key)
  } catch (err) {
    if (deepEqual(before, value)) return undefined
    throw err
  }
}

function diffField(patch: Patch, key: string, before: Values, value: Values, fields: PatchMeta, options: DiffOptions) {
  const meta = metaOf(key, before, value, fields)
  if (meta === undefined) return
  if (meta.strategy === "replace") {
    if (options.changes) patch[key] = value
    return
  }
  const part = diffObjects(before, value, meta, options)
  if (Object.keys(part).length > 0) patch[key] = part
}

function diffListField(
  patch: Patch,
  key: string,
  before: readonly unknown[],
  value: readonly unknown[],
  fields: PatchMeta,
  options: DiffOptions,
): void {
  const meta = metaOf(key, before, value, fields)
  if (meta === undefined) return
  if (meta.strategy !== "merge") {
    if (options.changes && !deepEqual(before, value)) patch[key] = value
    return
  }
  const { items, removed, order } = diffLists(before, value, meta, options)
  if (items.length > 0) patch[key] = items
  if (removed.length > 0) patch[`$deleteFromPrimitiveList/${key}`] = removed
  if (order.length > 0) patch[`$setElementOrder/${key}`] = order
}

interface ListDiff {
  readonly items: readonly unknown[]
  /** Texts or numbers to remove. */
  readonly removed: readonly unknown[]
  readonly order: readonly unknown[]
}

function diffLists(
  original: readonly unknown[],
  modified: readonly unknown[],
  meta: FieldMeta,
  options: DiffOptions,
): ListDiff {
  if (original.length === 0) return { items: options.changes ? modified : [], removed: [], order: [] }
  return isObject(oneType([...original, ...modified]))
    ? diffListsOfObjects(original as readonly Values[], modified as readonly Values[], meta, options)
    : diffListsOfScalars(original, modified, options)
}

function diffListsOfScalars(
  original: readonly unknown[],
  modified: readonly unknown[],
  options: DiffOptions,
): ListDiff {
  const sorted = [...original].sort(byText)
  const items = options.changes ? surplus(modified, sorted) : []
  const removed = options.deletions ? [...new Set(surplus(sorted, modified))] : []
  // Upstream has sorted the list by then, so that one in another order gives a patch that only tells its order.
  const isChanged = options.changes && !deepEqual(sorted, modified)
  const isOrdered = options.order && (isChanged || (options.deletions && removed.length > 0))
  return { items, removed, order: isOrdered ? modified : [] }
}

/** Returns the items of a list that another one does not have, or has less often. */
function surplus(list: readonly unknown[], other: readonly unknown[]): readonly unknown[] {
  const left = new Map<string, number>()
  for (const item of other) left.set(goText(item), (left.get(goText(item)) ?? 0) + 1)
  return list.filter((item) => {
    const count = left.get(goText(item)) ?? 0
    left.set(goText(item), count - 1)
    return count <= 0
  })
}

function diffListsOfObjects(
  original: readonly Values[],
  modified: readonly Values[],
  meta: FieldMeta,
  options: DiffOptions,
): ListDiff {
  const key = meta.mergeKey ?? ""
  const nameOf = (item: Values): string => {
    if (!Object.hasOwn(item, key)) throw noMergeKey(item, key)
    return goText(item[key])
  }
  const changed: Values[] = []
  const deleted: Values[] = []
  for (const [before, after] of pairs(original, modified, nameOf)) {
    if (before === undefined) {
      if (options.changes) changed.push(after!)
    } else if (after === undefined) {
      if (options.deletions) deleted.push({ [key]: before[key], $patch: "delete" })
    } else {
      const part = diffObjects(before, after, meta, options)
      if (Object.keys(part).length > 0) changed.push({ ...part, [key]: after[key] })
    }
  }
  const items = [...arranged(changed, modified, [], key), ...deleted]
  const isSame =
    original.length === modified.length && modified.every((item, i) => nameOf(item) === nameOf(original[i]!))
  const isOrdered =
    options.order && ((options.changes && (items.length > 0 || !isSame)) || (options.deletions && items.length > 0))
  return { items, removed: [], order: isOrdered ? modified.map((item) => ({ [key]: item[key] })) : [] }
}

/**
 * Pairs the items of two lists by name, in the order of names; of several with one name the last with the last, because
 * upstream's sort turns them round.
 */
function* pairs(
  original: readonly Values[],
  modified: readonly Values[],
  nameOf: (item: Values) => string,
): Generator<readonly [Values | undefined, Values | undefined]> {
  const byName = (a: Values, b: Values) => byText(nameOf(a), nameOf(b))
  const [before, after] = [original.toReversed().sort(byName), modified.toReversed().sort(byName)]
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    const order = i >= before.length ? 1 : j >= after.length ? -1 : byName(before[i]!, after[j]!)
    yield [order <= 0 ? before[i++] : undefined, order >= 0 ? after[j++] : undefined]
  }
}

export const noMergeKey = (item: Values, key: string): Error =>
  new Error(`map: ${goText(item)} does not contain declared merge key: ${key}`)

/** Returns an item of a list whose items all have one type. @throws Error when they do not, or are lists */
export function oneType(items: readonly unknown[]): unknown {
  const [first] = items
  if (Array.isArray(first)) throw new Error("lists of lists are not supported")
  if (items.some((item) => goType(item) !== goType(first)))
    throw new Error(`list element types are not identical: ${goText(items)}`)
  return first
}

const byText = (a: unknown, b: unknown): number => {
  const [left, right] = [goText(a), goText(b)]
  return left < right ? -1 : left > right ? 1 : 0
}
