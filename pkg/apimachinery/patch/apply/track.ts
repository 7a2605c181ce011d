import { isSmall } from "../../../cache/is-small.ts"
import { equalBeside } from "../../json/equal.ts"
import type { ManagedFieldsEntry } from "../../meta.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { compare, fieldSetOf } from "./compare.ts"
import { difference, isEmpty, nodeOf, NOTHING, SELF, union, type FieldSet } from "./fieldset.ts"
import { capped, entriesFrom, entryOf, isBy, sorted, withSet, type Entry, type ManagedBy } from "./managers.ts"
import { fieldsOfNew, hasLists, haveSameFields } from "./new-fields.ts"
import { withoutReset } from "./reset-fields.ts"
import { shapeOf } from "./shape.ts"
import { runAlone, type Changes, type Steps } from "./versions.ts"

export interface ChangedBy {
  readonly manager: string
  readonly subresource?: string | undefined
  /** RFC 3339, whole seconds. */
  readonly now: string
}

/**
 * Records in metadata.managedFields which fields a create (`old` undefined), update or patch changed. Runs at every
 * write, so it only examines differences. An object that was created without managedFields gets none until the first
 * apply. Source: apimachinery pkg/util/managedfields/internal/fieldmanager.go Update and the managers that it chains.
 */
export const trackUpdate = <T extends KubeObject>(
  resource: Resource<T>,
  old: T | undefined,
  object: T,
  by: ChangedBy,
): T => runAlone(tracking(resource, old, object, by))

/** Does the same in steps. */
export function* tracking<T extends KubeObject>(
  resource: Resource<T>,
  old: T | undefined,
  object: T,
  by: ChangedBy,
): Steps<T> {
  const entries = startingEntries(resource, old, object, by.subresource)
  if (old !== undefined && entries.length === 0) return withEntries(object, undefined)
  return withEntries(object, yield* recording(resource, old, object, entries, managedBy(resource, by), by.now))
}

/**
 * Records that the manager `by` has applied the fields of `part`, which no other manager of the new object owns. An
 * apply would do the same for these, but takes several milliseconds for the first object.
 */
export function trackApplied<T extends KubeObject>(resource: Resource<T>, object: T, part: object, by: ChangedBy): T {
  const self: ManagedBy = { ...managedBy(resource, by), operation: "Apply" }
  const entries = entriesFrom(object.metadata.managedFields) ?? []
  return withEntries(object, sorted([...entries, entryOf(self, fieldSetOf(shapeOf(resource.schema), part), by.now)]))
}

export const managedBy = (
  { apiVersion }: { readonly apiVersion: string },
  { manager, subresource }: ChangedBy,
): ManagedBy => ({ manager: manager === "" ? "unknown" : manager, operation: "Update", apiVersion, subresource })

/**
 * Returns the entries after a change by `by`. `others` are the changes in other versions, if managers have any.
 * Managers of versions that are not in it are dropped.
 */
export function* recording<T extends KubeObject>(
  resource: Resource<T>,
  old: T | undefined,
  object: T,
  entries: readonly Entry[],
  by: ManagedBy,
  now: string,
  others?: Changes,
): Steps<readonly Entry[]> {
  yield
  const { changed, removed, mine } =
    old === undefined ? fieldsOfCreated(resource, object, by) : fieldsOfChange(resource, old, object, by)
  const owners = withoutEmpty(entries)
  if (isEmpty(changed) && isEmpty(removed) && others === undefined) return owners
  yield
  const kept: Entry[] = []
  let own: Entry | undefined
  for (const entry of owners) {
    if (isBy(entry, by)) {
      own = entry
      continue
    }
    const isOther = others !== undefined && entry.apiVersion !== by.apiVersion
    const change = isOther ? others.get(entry.apiVersion ?? "") : { changed, removed }
    const left = change && withSet(entry, difference(difference(entry.fieldsV1, change.changed), change.removed))
    if (left !== undefined) kept.push(left)
    yield
  }
  if (own === undefined) {
    if (!isEmpty(mine)) kept.push(entryOf(by, mine, now))
  } else {
    // When the manager owns all changed fields afterwards, there is no need to remove them first.
    const left = difference(mine === changed ? own.fieldsV1 : difference(own.fieldsV1, changed), removed)
    const next = isEmpty(mine) ? withSet(own, left) : withTime(own, by, union(left, mine), now)
    if (next !== undefined) kept.push(next)
  }
  return sorted(capped(kept))
}

/** Leaves out managers that own nothing: every write removes them. */
const withoutEmpty = (entries: readonly Entry[]): readonly Entry[] =>
  entries.some(({ fieldsV1 }) => isEmpty(fieldsV1)) ? entries.filter(({ fieldsV1 }) => !isEmpty(fieldsV1)) : entries

const withTime = (own: Entry, by: ManagedBy, set: FieldSet, now: string): Entry =>
  set === own.fieldsV1 && own.time === now ? own : entryOf(by, set, now)

/** The effect of a write on fields. `mine` are the fields that belong to the writer afterwards. */
interface Fields {
  readonly changed: FieldSet
  readonly removed: FieldSet
  readonly mine: FieldSet
}

function fieldsOfChange<T extends KubeObject>(
  resource: Resource<T>,
  old: T,
  object: T,
  { subresource }: ManagedBy,
): Fields {
  const comparison = compare(shapeOf(resource.schema), old, object)
  const changed = withoutReset(resource, comparison.changed, subresource)
  return { changed, removed: withoutReset(resource, comparison.removed, subresource), mine: withoutIdentity(changed) }
}

interface Created extends Fields {
  readonly object: KubeObject
  readonly all: FieldSet
  /** Whether `haveSameFields` may find another object that has the same fields. */
  readonly isComparable: boolean
}
/** The last field set by kind and kind of manager, since the next object usually has the same fields. */
const created = new WeakMap<object, Map<string, Created>>()
const MOST_MANAGERS = 50
/** Fields of larger objects are not kept, in characters. */
const LARGEST_KEPT = 65_536

function fieldsOfCreated<T extends KubeObject>(
  resource: Resource<T>,
  object: T,
  { manager, subresource }: ManagedBy,
): Fields {
  let known = created.get(resource)
  if (known === undefined) created.set(resource, (known = new Map<string, Created>()))
  const isWhole = (subresource ?? "") === ""
  const family = familyOf(manager)
  const last = known.get(family)
  if (isWhole && last?.isComparable === true && haveSameFields(last.object, object)) return last
  const all = fieldsOfNew(shapeOf(resource.schema), object, last?.all)
  if (isWhole && last?.all === all) return last
  const changed = withoutReset(resource, all, subresource)
  const isComparable = !hasLists(object)
  const fields: Created = { object, all, changed, removed: NOTHING, mine: withoutIdentity(changed), isComparable }
  if (!isWhole || !isSmall(object, LARGEST_KEPT)) return fields
  if (known.size >= MOST_MANAGERS) known.clear()
  known.set(family, fields)
  return fields
}

/** Returns `node:` of `node:web-1`: the Events of a thousand kubelets have the same fields. */
const familyOf = (manager: string): string => manager.slice(0, manager.indexOf(":") + 1) || manager

/**
 * Returns the entries from which to continue: those that the client sent if they are well-formed, else the stored ones,
 * so that a client that does not know managedFields does not remove them. An empty list, or a list of one empty entry,
 * clears them; an empty list of a custom object counts as none. Writes to a subresource cannot set them.
 */
export function startingEntries(
  { definition }: Pick<Resource, "definition">,
  old: KubeObject | undefined,
  object: KubeObject,
  subresource: string | undefined,
): readonly Entry[] {
  const stored = old?.metadata.managedFields
  const sent = object.metadata.managedFields
  if (sent === stored || (subresource ?? "") !== "") return entriesFrom(stored) ?? []
  if (sent !== undefined && isReset(sent, definition === undefined)) return []
  const given = entriesFrom(sent)
  return given === undefined || given.length === 0 ? (entriesFrom(stored) ?? []) : given
}
const isReset = (sent: readonly ManagedFieldsEntry[], byEmpty: boolean): boolean =>
  sent.length === 0 ? byEmpty : sent.length === 1 && isBlank(sent[0]!)
const isBlank = (entry: ManagedFieldsEntry): boolean => Object.values(entry).every((value) => value === undefined)

export function withEntries<T extends KubeObject>(object: T, entries: readonly Entry[] | undefined): T {
  const given = object.metadata.managedFields
  const wanted = entries === undefined || entries.length === 0 ? undefined : entries
  if (
    given === wanted ||
    (given !== undefined &&
      wanted !== undefined &&
      given.length === wanted.length &&
      wanted.every((entry, i) => entry === given[i]))
  )
    return object
  if (wanted !== undefined) return { ...object, metadata: { ...object.metadata, managedFields: wanted } }
  const { managedFields: _given, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** Fields that no manager owns, since they identify the object or are set by the server. Source: stripmeta.go. */
const IDENTITY = new Set([
  "f:name",
  "f:namespace",
  "f:creationTimestamp",
  "f:selfLink",
  "f:uid",
  "f:clusterName",
  "f:generation",
  "f:managedFields",
  "f:resourceVersion",
  SELF,
])

const TYPE_AND_METADATA = new Set(["f:apiVersion", "f:kind", "f:metadata"])

export function withoutIdentity(set: FieldSet): FieldSet {
  const metadata = set["f:metadata"]
  const left = metadata === undefined ? undefined : withoutElements(metadata, IDENTITY)
  if (left === metadata && set["f:apiVersion"] === undefined && set["f:kind"] === undefined) return set
  const node = left === undefined ? undefined : nodeOf(left)
  const out: Record<string, FieldSet> = node === undefined ? {} : { "f:metadata": node }
  for (const element in set) if (!TYPE_AND_METADATA.has(element)) out[element] = set[element]!
  return out
}

function withoutElements(set: FieldSet, names: ReadonlySet<string>): FieldSet {
  let some = false
  const kept: Record<string, FieldSet> = {}
  for (const element in set) {
    if (names.has(element)) some = true
    else kept[element] = set[element]!
  }
  return some ? kept : set
}

const METADATA: readonly string[] = ["metadata"]
const MANAGED_FIELDS: readonly string[] = ["managedFields"]
const TIME: readonly string[] = ["time"]

/**
 * Whether two objects differ at most in the times of managedFields: a write without effect must not make a new
 * revision. Source: endpoints/handlers/fieldmanager/equality.go.
 */
export function isWithoutEffect(old: KubeObject, object: KubeObject): boolean {
  if (object === old) return true
  // Most writes change something besides the metadata, so that is compared first.
  if (!equalBeside(object, old, METADATA) || !equalBeside(object.metadata, old.metadata, MANAGED_FIELDS)) return false
  const { managedFields: before } = old.metadata
  const { managedFields: after } = object.metadata
  if (before === undefined || after === undefined || before === after) return before === after
  if (before.length !== after.length) return false
  // Entries are also sorted by time, so the order of the two lists may differ.
  if (before.length <= FEW_MANAGERS)
    return after.every((entry) => before.some((other) => equalBeside(entry, other, TIME)))
  const known = new Set(before.map(textBesideTime))
  return after.every((entry) => known.has(textBesideTime(entry)))
}

/** More entries are not compared with each other: a client can send 8,000. */
const FEW_MANAGERS = 50
const textBesideTime = ({ time: _time, ...entry }: ManagedFieldsEntry): string => JSON.stringify(entry)

/**
 * Returns the manager under which a request's changes are recorded: its fieldManager, else the first part of the user
 * agent. Source: endpoints/handlers/create.go managerOrUserAgent.
 */
export function managerOf(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager !== undefined && fieldManager !== "") return fieldManager
  const slash = userAgent?.indexOf("/") ?? -1
  const name = slash < 0 ? (userAgent ?? "") : userAgent!.slice(0, slash)
  return (PLAIN.test(name) ? name : name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "")).slice(0, 128)
}
const PLAIN = /^[\x20-\x7e]*$/
