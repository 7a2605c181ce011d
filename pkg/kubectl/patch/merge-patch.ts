import { deepEqual } from "../../apimachinery/json/equal.ts"
import { isJsonObject as isObject } from "../../apimachinery/json/json-value.ts"
import { ConflictError } from "./conflict-error.ts"
import type { ThreeWay } from "./three-way.ts"

type Values = Readonly<Record<string, unknown>>

/**
 * Returns the JSON merge patch of `kubectl apply`, for kinds that have no strategic one, such as custom resources.
 * Source: apimachinery pkg/util/jsonmergepatch/patch.go CreateThreeWayJSONMergePatch.
 * @throws ConflictError; Error when the configuration would change what identifies the object
 */
export function threeWayMergePatch({ original, modified, current }: ThreeWay): Values {
  const changes = changesOf(mergeDiff(current, modified))
  const deletions = deletionsOf(mergeDiff(original, modified))
  if (collide(changes, deletions)) throw new ConflictError(changes, deletions)
  const patch = merged(deletions, changes)
  const { metadata } = patch
  if ("apiVersion" in patch || "kind" in patch || (isObject(metadata) && "name" in metadata))
    throw new Error("At least one of apiVersion, kind and name was changed")
  return patch
}

/** Returns the JSON merge patch that makes `modified` of `original`. Source: RFC 7396. */
export function mergeDiff(original: Values, modified: Values): Values {
  const patch: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(modified)) {
    const before = Object.hasOwn(original, key) ? original[key] : undefined
    if (before !== undefined && deepEqual(before, value)) continue
    patch[key] = isObject(before) && isObject(value) ? mergeDiff(before, value) : value
  }
  for (const key of Object.keys(original)) if (!Object.hasOwn(modified, key)) patch[key] = null
  return patch
}

/** Returns a patch without what it removes. */
function changesOf(patch: Values): Values {
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) continue
    const part = isObject(value) && Object.keys(value).length > 0 ? changesOf(value) : value
    if (part === value || Object.keys(part as Values).length > 0) kept[key] = part
  }
  return kept
}

/** Returns only what a patch removes. */
function deletionsOf(patch: Values): Values {
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(patch))
    if (value === null) kept[key] = null
    else if (isObject(value)) {
      const part = deletionsOf(value)
      if (Object.keys(part).length > 0) kept[key] = part
    }
  return kept
}

/** Whether two patches give a field different values. Source: apimachinery pkg/util/mergepatch/util.go HasConflicts. */
function collide(left: unknown, right: unknown): boolean {
  if (isObject(left) && isObject(right))
    return Object.entries(left).some(([key, value]) => Object.hasOwn(right, key) && collide(value, right[key]))
  if (Array.isArray(left) && Array.isArray(right))
    return left.length !== right.length || left.some((value, i) => collide(value, right[i]))
  return !deepEqual(left, right)
}

function merged(into: Values, patch: Values): Values {
  const out: Record<string, unknown> = { ...into }
  for (const [key, value] of Object.entries(patch)) {
    const before = out[key]
    out[key] = isObject(before) && isObject(value) ? merged(before, value) : value
  }
  return out
}
