import type { Resource } from "../../resource.ts"
import { fieldSetOf } from "./compare.ts"
import { difference, intersection, isEmpty, NOTHING, union, type FieldSet } from "./fieldset.ts"
import type { Entry } from "./managers.ts"
import { removeFields, withNamedFields } from "./merge.ts"
import { shapeOf, type Shape } from "./shape.ts"
import type { Steps, Versioned } from "./versions.ts"

/** The managers' fields when a manager applies a configuration. */
export interface Owners {
  /** The manager's entry before the apply. */
  readonly own: Entry | undefined
  readonly others: readonly Entry[]
  /** The fields of the new configuration, in the version of the request. */
  readonly set: FieldSet
}

/**
 * Removes from a merged object the fields that the manager applied before and does not name now, except those that any
 * manager owns, and those that the manager did not own. The manager's earlier fields are those of the version that it
 * applied then, and those of another manager belong to that manager's version: so the object is converted to each of
 * these versions. Source: merge/update.go prune.
 */
export function* pruned(resource: Resource, merged: unknown, { own, others, set }: Owners): Steps<unknown> {
  if (own === undefined) return merged
  const { fieldsV1: last, apiVersion: lastVersion = "" } = own
  const versions = new Map<string, FieldSet>([
    [lastVersion, NOTHING],
    [resource.apiVersion, set],
  ])
  for (const { apiVersion = "", fieldsV1 } of others)
    versions.set(apiVersion, union(versions.get(apiVersion) ?? NOTHING, fieldsV1))
  // The manager dropped no field, so there is nothing to remove.
  if (lastVersion === resource.apiVersion && isEmpty(difference(last, set))) return merged
  yield
  const start = { resource, value: merged }
  const before = yield* shownIn(lastVersion, start)
  if (before === undefined) return merged
  const shape = shapeOf(before.resource.schema)
  const all = namedSetOf(shape, before.value)
  yield
  const named = withNamedFields(shape, last)
  let left = { resource: before.resource, value: removeFields(shape, before.value, named) ?? {} }
  let whole = before
  for (const [version, owned] of versions) {
    const [wholeHere, leftHere] = [yield* shownIn(version, whole), yield* shownIn(version, left)]
    if (wholeHere === undefined || leftHere === undefined) continue
    whole = wholeHere
    const here = shapeOf(whole.resource.schema)
    yield
    const kept = union(namedSetOf(here, leftHere.value), withNamedFields(here, owned))
    yield
    const set = whole === before ? all : namedSetOf(here, whole.value)
    yield
    const value = removeFields(here, whole.value, difference(set, kept)) ?? {}
    left = { resource: whole.resource, value }
  }
  const leftBefore = yield* shownIn(lastVersion, left)
  if (leftBefore === undefined) return merged
  yield
  const gone = intersection(difference(all, namedSetOf(shape, leftBefore.value)), named)
  const value = removeFields(shape, before.value, gone) ?? {}
  return (yield* shownIn(resource.apiVersion, { resource: before.resource, value }))?.value ?? merged
}

/** A value in one version of the kind, not decoded yet. */
interface Value {
  readonly resource: Resource
  readonly value: unknown
}

function* shownIn(apiVersion: string, { resource, value }: Value): Steps<Value | undefined> {
  if (apiVersion === resource.apiVersion) return { resource, value }
  const shown: Versioned | undefined = yield { object: value as object, apiVersion }
  return shown && { resource: shown.resource, value: shown.object }
}

const namedSetOf = (shape: Shape, value: unknown): FieldSet => withNamedFields(shape, fieldSetOf(shape, value))
