import { deepEqual } from "../../apimachinery/json/equal.ts"
import { isJsonObject as isObject } from "../../apimachinery/json/json-value.ts"
import { arranged, checkOrder } from "../../apimachinery/patch/strategic.ts"
import { hasConflicts } from "./conflicts.ts"
import type { FieldMeta, PatchMeta } from "./patch-meta.ts"
import { ConflictError } from "./conflict-error.ts"
import { noMergeKey, oneType, strategicDiff } from "./strategic-diff.ts"

type Values = Readonly<Record<string, unknown>>

/** The three states from which a patch is made. */
export interface ThreeWay {
  /** What was applied last. */
  readonly original: Values
  /** What is to be applied. */
  readonly modified: Values
  /** What the server has. */
  readonly current: Values
}

/**
 * Returns the strategic merge patch of `kubectl apply`: it sets what `modified` has and `current` has not, and removes
 * what only `original` has, so that what others have set stays. Source: apimachinery pkg/util/strategicpatch/patch.go
 * CreateThreeWayMergePatch.
 * @param overwrite whether fields that others have changed too are set all the same
 * @throws ConflictError when they are not to be, and there are some; Error when a field is unknown
 */
export function threeWayStrategicPatch(
  { original, modified, current }: ThreeWay,
  fields: PatchMeta,
  overwrite: boolean,
): Values {
  const changes = strategicDiff(current, modified, fields, { changes: true, deletions: false, order: true })
  const deletions = strategicDiff(original, modified, fields, { changes: false, deletions: true, order: true })
  const patch = mergeObjects(deletions, changes, fields)
  if (overwrite) return patch
  const byOthers = strategicDiff(original, current, fields, { changes: true, deletions: true, order: false })
  if (hasConflicts(patch, byOthers, fields)) throw new ConflictError(patch, byOthers)
  return patch
}

const ORDER = "$setElementOrder/"

/** Merges the patch with changes into the one with deletions: directives stay directives. */
function mergeObjects(deletions: Values, changes: Values, fields: PatchMeta): Values {
  const merged: Record<string, unknown> = { ...deletions }
  for (const [key, value] of Object.entries(changes)) {
    const before = merged[key]
    if (key.startsWith("$")) {
      // Both patches are made of the same configuration, so that their directives do not differ.
      merged[key] = value
      continue
    }
    if (isObject(before) && isObject(value)) {
      const meta = fields.of(key)
      merged[key] = meta.strategy === "replace" ? value : mergeObjects(before, value, meta.fields)
    } else if (Array.isArray(before) && Array.isArray(value)) {
      const meta = fields.of(key)
      merged[key] = meta.strategy === "merge" ? mergeLists(before, value, meta) : value
    } else merged[key] = value
  }
  for (const [key, order] of Object.entries(merged)) {
    const field = key.slice(ORDER.length)
    const items = merged[field]
    if (!key.startsWith(ORDER) || !Array.isArray(items)) continue
    const { mergeKey } = fields.of(field)
    const [wanted, had] = [order, deletions[field] ?? []] as [readonly unknown[], readonly unknown[]]
    if (Array.isArray(changes[field])) checkOrder(changes[field], wanted, mergeKey)
    const [removed, kept] = [items.filter(isRemoval), items.filter((item) => !isRemoval(item))]
    merged[field] = [...arranged(kept, wanted, had, mergeKey), ...arranged(removed, wanted, had, mergeKey)]
  }
  return merged
}

const isRemoval = (item: unknown): boolean => isObject(item) && item["$patch"] === "delete"

function mergeLists(
  deletions: readonly unknown[],
  changes: readonly unknown[],
  { mergeKey: key, fields }: FieldMeta,
): readonly unknown[] {
  if (deletions.length === 0 && changes.length === 0) return deletions
  if (!isObject(oneType([...deletions, ...changes]))) return [...new Set([...deletions, ...changes])]
  if (key === undefined) throw new Error("cannot merge lists without merge key")
  const merged = [...(deletions as readonly Values[])]
  for (const item of changes as readonly Values[]) {
    if (!Object.hasOwn(item, key)) throw noMergeKey(item, key)
    const place = merged.findIndex((one) => deepEqual(one[key], item[key]))
    if (place === -1) merged.push(item)
    else merged[place] = mergeObjects(merged[place]!, item, fields)
  }
  return merged
}
