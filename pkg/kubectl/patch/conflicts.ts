import { deepEqual } from "../../apimachinery/json/equal.ts"
import { isJsonObject as isObject } from "../../apimachinery/json/json-value.ts"
import { goText } from "../../apimachinery/go/go-text.ts"
import type { FieldMeta, PatchMeta } from "./patch-meta.ts"
import { oneType } from "./strategic-diff.ts"

type Values = Readonly<Record<string, unknown>>

/**
 * Whether two strategic merge patches give a field different values. Source: apimachinery
 * pkg/util/strategicpatch/patch.go MergingMapsHaveConflicts.
 */
export const hasConflicts = (left: Values, right: Values, fields: PatchMeta): boolean =>
  inObjects(left, right, fields, undefined)

function differ(left: unknown, right: unknown, meta: FieldMeta | undefined): boolean {
  if (isObject(left)) return !isObject(right) || inObjects(left, right, meta?.fields, meta?.strategy)
  if (Array.isArray(left)) return !Array.isArray(right) || inLists(left, right, meta)
  return !deepEqual(left, right)
}

function inObjects(
  left: Values,
  right: Values,
  fields: PatchMeta | undefined,
  strategy: FieldMeta["strategy"],
): boolean {
  // A directive is about the whole object.
  if (left["$patch"] !== right["$patch"]) return true
  if (strategy === "replace") return false
  // Directives last: they are no fields, so that two that differ cannot be compared.
  const keys = Object.keys(left).sort((a, b) => Number(a.startsWith("$")) - Number(b.startsWith("$")))
  return keys.some((key) => {
    if (key === "$patch" || key === "$retainKeys" || !Object.hasOwn(right, key)) return false
    const value = left[key]
    return differ(value, right[key], typeof value === "object" && value !== null ? fields?.of(key) : undefined)
  })
}

function inLists(left: readonly unknown[], right: readonly unknown[], meta: FieldMeta | undefined): boolean {
  const areObjects = isObject(oneType([...left, ...right]))
  if (meta?.strategy === "merge") {
    if (!areObjects) return false
    const [named, others] = [byName(left, meta), byName(right, meta)]
    const { fields } = meta
    return [...named].some(([name, item]) => others.has(name) && inObjects(item, others.get(name)!, fields, undefined))
  }
  if (left.length !== right.length) return true
  const [a, b] = areObjects ? [left, right] : [sorted(left), sorted(right)]
  return a.some((item, i) => differ(item, b[i], undefined))
}

const sorted = (items: readonly unknown[]): readonly unknown[] =>
  [...new Set(items)].sort((a, b) => (goText(a) < goText(b) ? -1 : 1))

function byName(items: readonly unknown[], { mergeKey = "" }: FieldMeta): ReadonlyMap<string, Values> {
  return new Map(
    (items as readonly Values[]).map((item) => {
      if (!Object.hasOwn(item, mergeKey))
        throw new Error(`cannot find merge key \`${mergeKey}\` in merging list element:${goText(item)}`)
      return [goText(item[mergeKey]), item]
    }),
  )
}
