import { decodeMessage, decodeObject, typed, type Decoded } from "../../decode.ts"
import { DecodeError } from "../../decoder-cursor.ts"
import { deepEqual, deepEqualWithNulls } from "../../equal.ts"
import { ApiError, badRequest } from "../../errors.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { canonicalSet } from "./canonical-set.ts"
import { configurationFault } from "./check-configuration.ts"
import { compare, fieldSetOf } from "./compare.ts"
import { difference, intersection, isEmpty, NOTHING, pathsOf, union, type FieldSet } from "./fieldset.ts"
import { lastAppliedFields, withLastApplied } from "./last-applied.ts"
import { entriesFrom, entryOf, isBy, sorted, withSet, type Entry, type ManagedBy } from "./managers.ts"
import { mergeInto, removeFields, withNamedFields } from "./merge.ts"
import { shapeOf, type Shape } from "./shape.ts"
import { recorded, withEntries, withoutIdentity, withoutReset, type ChangedBy } from "./track.ts"

export interface AppliedBy extends ChangedBy {
  /** Take over fields that others own. */
  readonly force?: boolean | undefined
}

/**
 * Server-side apply: `config` says what `manager` wants; fields it set the last time and no longer names are given up,
 * and go unless another owns them. `live` is undefined when the object is to be created. The result is decoded and
 * carries its managedFields; it is `live` itself when nothing changes.
 * @throws ApiError Conflict naming every field that another owns with another value; BadRequest for a bad
 * configuration. Source: structured-merge-diff merge/update.go Apply; apimachinery pkg/util/managedfields/internal.
 */
export function applyConfiguration<T extends KubeObject>(
  resource: Resource<T>,
  live: T | undefined,
  config: unknown,
  by: AppliedBy,
): Decoded<T> {
  const shape = shapeOf(resource.schema)
  const wanted = checkedConfiguration(resource, config)
  const self: ManagedBy = {
    manager: by.manager,
    operation: "Apply",
    apiVersion: resource.apiVersion,
    subresource: by.subresource,
  }
  const entries = entriesBefore(resource, live, by)
  const own = entries.find((entry) => isBy(entry, self))
  const set = withoutReset(resource, fieldSetOf(shape, wanted), by.subresource)
  const mine = withoutIdentity(set)

  const base: object = live ?? { apiVersion: resource.apiVersion, kind: resource.kind, metadata: {} }
  const others = entries.filter((entry) => entry !== own)
  const merged = pruned(
    shape,
    mergeInto(shape, base, wanted),
    own?.fieldsV1 ?? NOTHING,
    union(
      set,
      others.reduce((all, entry) => union(all, entry.fieldsV1), NOTHING),
    ),
    set,
  )
  const comparison = compare(shape, live ?? {}, merged)
  const changed = withoutReset(resource, comparison.changed, by.subresource)
  const removed = withoutReset(resource, comparison.removed, by.subresource)
  if (by.force !== true) refuseConflicts(resource, shape, live, others, changed, by.manager)

  const kept = others.flatMap((entry) => withSet(entry, difference(difference(entry.fieldsV1, changed), removed)) ?? [])
  const same = live !== undefined && deepEqualWithNulls(live, merged)
  if (!isEmpty(mine))
    kept.push(
      own !== undefined && same && deepEqual(own.fieldsV1, mine) ? own : entryOf(self, mine, same ? own?.time : by.now),
    )
  const { object, faults } = same
    ? { object: live, faults: [] }
    : decodeObject(resource, by.manager === "kubectl" ? withLastApplied(merged as KubeObject, wanted) : merged, {
        // Upstream gives a custom object its defaults again after the merge, but prunes no nulls.
        keepsNulls: true,
      })
  return { object: withEntries(object, sorted(kept)), faults }
}

/** An object without managedFields counts as made by one manager before the first apply. Source: skipnonapplied.go. */
function entriesBefore<T extends KubeObject>(
  resource: Resource<T>,
  live: T | undefined,
  { subresource, now }: AppliedBy,
): readonly Entry[] {
  if (live === undefined) return []
  const entries = entriesFrom(live.metadata.managedFields)
  if (entries === undefined)
    throw new ApiError(
      "InternalError",
      `Internal error occurred: failed to decode managed fields of ${resource.kind} "${live.metadata.name ?? ""}"`,
    )
  return entries.length > 0
    ? entries
    : recorded(
        resource,
        undefined,
        live,
        [],
        { manager: "before-first-apply", operation: "Update", apiVersion: resource.apiVersion, subresource },
        now,
      )
}

function checkedConfiguration(resource: Resource, config: unknown): Readonly<Record<string, unknown>> {
  const { apiVersion, kind } = resource
  if (typeof config !== "object" || config === null || Array.isArray(config))
    throw badRequest(`error decoding YAML: an apply configuration must be an object`)
  const given = config as Readonly<Record<string, unknown>>
  if (given["apiVersion"] !== apiVersion || given["kind"] !== kind)
    throw badRequest(`invalid object type: ${shownType(given["apiVersion"], given["kind"])}`)
  const {
    name = "",
    namespace = "",
    managedFields,
  } = (given["metadata"] ?? {}) as {
    readonly name?: string
    readonly namespace?: string
    readonly managedFields?: unknown
  }
  if (managedFields !== undefined && managedFields !== null) throw badRequest("metadata.managedFields must be nil")
  const about = `(${namespace}/${name}; ${shownType(apiVersion, kind)})`
  // Upstream lets these faults through as they are, without a reason.
  const fault = configurationFault(typed(resource.schema), given)
  if (fault !== undefined) throw new ApiError("Unknown", `failed to create typed patch object ${about}: ${fault}`)
  try {
    decodeMessage(typed(resource.schema), given)
  } catch (err) {
    throw err instanceof DecodeError
      ? new ApiError("Unknown", `failed to convert new typed object ${about} to object: ${err.message}`)
      : err
  }
  return given
}

/** `apps/v1, Kind=Deployment`, and `/v1, Kind=Pod`: a GroupVersionKind as Go shows it. */
function shownType(apiVersion: unknown, kind: unknown): string {
  const parts = typeof apiVersion === "string" ? apiVersion.split("/") : []
  if (parts.length > 2) return "/, Kind="
  const [version = "", group = ""] = parts.toReversed()
  return `${group}/${version}, Kind=${typeof kind === "string" ? kind : ""}`
}

/**
 * Takes out what this manager set the last time and does not set now, but for what any manager still owns, and for what
 * it never owned itself. `owned` is what all own, the new configuration included. Source: merge/update.go prune.
 */
function pruned(shape: Shape, merged: unknown, last: FieldSet, owned: FieldSet, set: FieldSet): unknown {
  // Nothing was dropped: all that would be taken out would be put back.
  if (isEmpty(difference(last, set))) return merged
  const named = (fields: FieldSet): FieldSet => withNamedFields(shape, fields)
  const all = named(fieldSetOf(shape, merged))
  const without = removeFields(shape, merged, named(last))
  const ownedKept = removeFields(
    shape,
    merged,
    difference(all, union(named(fieldSetOf(shape, without ?? {})), named(owned))),
  )
  const left = named(fieldSetOf(shape, ownedKept ?? {}))
  return removeFields(shape, merged, intersection(difference(all, left), named(last))) ?? {}
}

function refuseConflicts<T extends KubeObject>(
  resource: Resource<T>,
  shape: Shape,
  live: T | undefined,
  others: readonly Entry[],
  changed: FieldSet,
  manager: string,
): void {
  if (isEmpty(changed) || live === undefined) return
  let conflicts = others
    .map((entry) => ({ entry, fields: intersection(entry.fieldsV1, changed) }))
    .filter(({ fields }) => !isEmpty(fields))
  // kubectl moving from client-side to server-side apply owns what its last client-side apply set and nobody changed
  // since.
  const allowed = manager === "kubectl" ? lastAppliedFields(shape, resource, live) : NOTHING
  if (!isEmpty(allowed))
    conflicts = conflicts
      .map(({ entry, fields }) => ({ entry, fields: difference(fields, allowed) }))
      .filter(({ fields }) => !isEmpty(fields))
  if (conflicts.length === 0) return
  const found = conflicts.flatMap(({ entry, fields }) =>
    pathsOf(canonicalSet(fields)).map((path) => ({ by: shownManager(entry), path })),
  )
  const causes = found.map(({ by, path }) => ({
    reason: "FieldManagerConflict" as const,
    message: `conflict with ${by}`,
    field: path,
  }))
  throw new ApiError("Conflict", conflictMessage(found), { causes })
}

function conflictMessage(found: readonly { readonly by: string; readonly path: string }[]): string {
  if (found.length === 1) return `Apply failed with 1 conflict: conflict with ${found[0]!.by}: ${found[0]!.path}`
  const managers = [...new Set(found.map(({ by }) => by))].sort()
  const lines = managers.flatMap((manager) => [
    `conflicts with ${manager}:`,
    ...found.filter(({ by }) => by === manager).map(({ path }) => `- ${path}`),
  ])
  return `Apply failed with ${found.length} conflicts: ${lines.join("\n")}`
}

function shownManager({ manager = "", operation, apiVersion = "", subresource }: Entry): string {
  const name =
    subresource === undefined
      ? JSON.stringify(manager)
      : `${JSON.stringify(manager)} with subresource ${JSON.stringify(subresource)}`
  return operation === "Update" ? `${name} using ${apiVersion}` : name
}
