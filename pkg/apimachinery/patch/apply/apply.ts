import { decodeMessage, decodeObject, typed, type Decoded } from "../../decoding/decode.ts"
import { DecodeError } from "../../decoding/decoder-cursor.ts"
import { deepEqual, deepEqualWithNulls } from "../../json/equal.ts"
import { ApiError, badRequest } from "../../errors.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { canonicalSet } from "./canonical-set.ts"
import { configurationFault } from "./check-configuration.ts"
import { compare, fieldSetOf, type Comparison } from "./compare.ts"
import { difference, intersection, isEmpty, NOTHING, pathsOf } from "./fieldset.ts"
import { addedFieldsExceed } from "./least-size.ts"
import { lastAppliedFields, withLastApplied } from "./last-applied.ts"
import { entriesFrom, entryOf, isBy, sorted, withSet, type Entry, type ManagedBy } from "./managers.ts"
import { mergeInto } from "./merge.ts"
import { shapeOf, type Shape } from "./shape.ts"
import { pruned } from "./prune.ts"
import { withoutReset } from "./reset-fields.ts"
import { recording, withEntries, withoutIdentity, type ChangedBy } from "./track.ts"
import {
  changesIn,
  hasOtherVersions,
  liveIn,
  run,
  runAlone,
  type Changes,
  type ConvertVersion,
  type LiveVersions,
  type Pause,
  type Steps,
} from "./versions.ts"

export interface AppliedBy extends ChangedBy {
  /** Takes fields over that other managers own. */
  readonly force?: boolean | undefined
  /** Bytes of managedFields with which an object is too large: no manager's fields are recorded then. */
  readonly most?: number | undefined
}

/**
 * Server-side apply: `config` has the fields that `manager` wants. Fields that it applied before and no longer names
 * are removed, unless another manager owns them. `live` is undefined when the object is to be created. Returns the
 * decoded result with its managedFields; `live` itself when nothing changes.
 * @throws ApiError Conflict with every field that another manager owns with another value; BadRequest for an invalid
 * configuration. Source: structured-merge-diff merge/update.go Apply; apimachinery pkg/util/managedfields/internal.
 */
export const applyConfiguration = <T extends KubeObject>(
  resource: Resource<T>,
  live: T | undefined,
  config: unknown,
  by: AppliedBy,
): Decoded<T> => runAlone(applied(resource, live, config, by))

/**
 * Does the same when managers may have written the object in other versions; with a `pause`, in steps.
 * @throws ApiError, also of conversions
 */
export const applyConfigurationIn = <T extends KubeObject>(
  resource: Resource<T>,
  live: T | undefined,
  config: unknown,
  by: AppliedBy,
  convert: ConvertVersion,
  pause?: Pause,
): Decoded<T> | Promise<Decoded<T>> => run(applied(resource, live, config, by), convert, pause)

function* applied<T extends KubeObject>(
  resource: Resource<T>,
  live: T | undefined,
  config: unknown,
  by: AppliedBy,
): Steps<Decoded<T>> {
  const shape = shapeOf(resource.schema)
  const wanted = yield* checkedConfiguration(resource, config)
  yield
  const self: ManagedBy = {
    manager: by.manager,
    operation: "Apply",
    apiVersion: resource.apiVersion,
    subresource: by.subresource,
  }
  const isUnmanaged = live !== undefined && live.metadata.managedFields === undefined
  const exceeds =
    fieldsExceed(resource as Resource, wanted, by) || (isUnmanaged && fieldsExceed(resource as Resource, live, by))
  // Then nobody asks for the owners of fields.
  const before = exceeds && isUnmanaged && by.force === true ? [] : yield* entriesBefore(resource, live, by)
  const shown: LiveVersions | undefined =
    live !== undefined && hasOtherVersions(before, resource)
      ? yield* liveIn(resource as Resource, live, before)
      : undefined
  const entries = shown === undefined ? before : before.filter(({ apiVersion = "" }) => shown.has(apiVersion))
  const own = entries.find((entry) => isBy(entry, self))
  const set = exceeds && own === undefined ? NOTHING : withoutReset(resource, fieldSetOf(shape, wanted), by.subresource)
  const mine = withoutIdentity(set)
  yield

  const base: object = live ?? { apiVersion: resource.apiVersion, kind: resource.kind, metadata: {} }
  const others = entries.filter((entry) => entry !== own)
  const whole = mergeInto(shape, base, wanted)
  yield
  const merged = yield* pruned(resource as Resource, whole, { own, others, set })
  yield
  const kept: Entry[] = []
  if (others.length > 0 && !(exceeds && by.force === true)) {
    const comparison = compare(shape, live ?? {}, merged)
    const change = {
      changed: withoutReset(resource, comparison.changed, by.subresource),
      removed: withoutReset(resource, comparison.removed, by.subresource),
    }
    yield
    const foreign: Changes =
      shown === undefined ? NO_CHANGES : yield* changesIn(shown, merged as object, resource, by.subresource)
    const changeOf = ({ apiVersion = "" }: Entry): Comparison =>
      apiVersion === resource.apiVersion ? change : (foreign.get(apiVersion) ?? change)
    if (by.force !== true) refuseConflicts(resource, shape, live, others, changeOf, by.manager)
    for (const entry of exceeds ? [] : others) {
      yield
      const { changed, removed } = changeOf(entry)
      const left = withSet(entry, difference(difference(entry.fieldsV1, changed), removed))
      if (left !== undefined) kept.push(left)
    }
  }
  yield
  const same = live !== undefined && deepEqualWithNulls(live, merged)
  if (!isEmpty(mine) && !exceeds)
    kept.push(
      own !== undefined && same && deepEqual(own.fieldsV1, mine) ? own : entryOf(self, mine, same ? own?.time : by.now),
    )
  yield
  const { object, faults } = same
    ? { object: live, faults: [] }
    : decodeObject(resource, by.manager === "kubectl" ? withLastApplied(merged as KubeObject, wanted) : merged, {
        // After the merge upstream sets defaults of a custom object again, but keeps its nulls.
        keepsNulls: true,
      })
  return { object: withEntries(object, sorted(kept)), faults }
}

/** Whether the fields of an object, or of a configuration, take too much by themselves. */
const fieldsExceed = (resource: Resource, object: object, { most, subresource }: AppliedBy): boolean =>
  most !== undefined && addedFieldsExceed(resource, NO_OBJECT, object as KubeObject, { subresource, most })
const NO_OBJECT = { metadata: {} } as KubeObject

/**
 * Returns the managedFields before the apply. An object without them counts as written by one manager before the first
 * apply. Source: skipnonapplied.go.
 */
function* entriesBefore<T extends KubeObject>(
  resource: Resource<T>,
  live: T | undefined,
  { subresource, now }: AppliedBy,
): Steps<readonly Entry[]> {
  if (live === undefined) return []
  const entries = entriesFrom(live.metadata.managedFields)
  if (entries === undefined)
    throw new ApiError(
      "InternalError",
      `Internal error occurred: failed to decode managed fields of ${resource.kind} "${live.metadata.name ?? ""}"`,
    )
  return entries.length > 0
    ? entries
    : yield* recording(
        resource,
        undefined,
        live,
        [],
        { manager: "before-first-apply", operation: "Update", apiVersion: resource.apiVersion, subresource },
        now,
      )
}

function* checkedConfiguration(resource: Resource, config: unknown): Steps<Readonly<Record<string, unknown>>> {
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
  // Upstream returns these errors without a reason.
  const fault = configurationFault(typed(resource.schema), given)
  if (fault !== undefined) throw new ApiError("Unknown", `failed to create typed patch object ${about}: ${fault}`)
  yield
  try {
    decodeMessage(typed(resource.schema), given)
  } catch (err) {
    throw err instanceof DecodeError
      ? new ApiError("Unknown", `failed to convert new typed object ${about} to object: ${err.message}`)
      : err
  }
  return given
}

/** Formats group, version and kind as Go does: `apps/v1, Kind=Deployment`, or `/v1, Kind=Pod`. */
function shownType(apiVersion: unknown, kind: unknown): string {
  const parts = typeof apiVersion === "string" ? apiVersion.split("/") : []
  if (parts.length > 2) return "/, Kind="
  const [version = "", group = ""] = parts.toReversed()
  return `${group}/${version}, Kind=${typeof kind === "string" ? kind : ""}`
}

const NO_CHANGES: Changes = new Map()

function refuseConflicts<T extends KubeObject>(
  resource: Resource<T>,
  shape: Shape,
  live: T | undefined,
  others: readonly Entry[],
  changeOf: (entry: Entry) => Comparison,
  manager: string,
): void {
  if (live === undefined) return
  let conflicts = others
    .map((entry) => ({ entry, fields: intersection(entry.fieldsV1, changeOf(entry).changed) }))
    .filter(({ fields }) => !isEmpty(fields))
  // When kubectl moves from client-side to server-side apply, it owns the fields of its last client-side apply that
  // nobody has changed since.
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
