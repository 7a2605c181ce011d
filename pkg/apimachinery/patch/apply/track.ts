import { deepEqual } from "../../equal.ts"
import type { ManagedFieldsEntry } from "../../meta.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { compare } from "./compare.ts"
import { difference, isEmpty, nodeOf, NOTHING, SELF, union, without, type FieldSet } from "./fieldset.ts"
import { capped, entriesFrom, entryOf, isBy, sorted, withSet, type Entry, type ManagedBy } from "./managers.ts"
import { shapeOf } from "./shape.ts"

export interface ChangedBy {
  readonly manager: string
  readonly subresource?: string | undefined
  /** RFC 3339, whole seconds. */
  readonly now: string
}

/**
 * Notes in metadata.managedFields which fields a create (`old` undefined), update or patch changed. Runs on every write, so it looks only at what
 * differs. An object that came into being without managedFields stays without them until it is applied to.
 * Source: apimachinery pkg/util/managedfields/internal/fieldmanager.go Update and the managers it stacks.
 */
export function trackUpdate<T extends KubeObject>(resource: Resource<T>, old: T | undefined, object: T, { manager, subresource, now }: ChangedBy): T {
  const entries = startingEntries(old, object, subresource)
  if (old !== undefined && entries.length === 0) return withEntries(object, undefined)
  const by: ManagedBy = { manager: manager === "" ? "unknown" : manager, operation: "Update", apiVersion: resource.apiVersion, subresource }
  return withEntries(object, recorded(resource, old, object, entries, by, now))
}

/** The entries after a change by `by`. */
export function recorded<T extends KubeObject>(resource: Resource<T>, old: T | undefined, object: T, entries: readonly Entry[], by: ManagedBy, now: string): readonly Entry[] {
  const comparison = compare(shapeOf(resource.schema), old ?? EMPTY_OBJECT, object)
  const changed = withoutReset(resource, comparison.changed, by.subresource)
  const removed = withoutReset(resource, comparison.removed, by.subresource)
  const mine = withoutIdentity(changed)
  if (isEmpty(changed) && isEmpty(removed)) return entries
  let own: Entry | undefined
  const kept = entries.flatMap((entry): Entry[] => {
    const left = withSet(entry, difference(difference(entry.fieldsV1, changed), removed))
    if (!isBy(entry, by)) return left === undefined ? [] : [left]
    own = left
    return []
  })
  if (!isEmpty(mine)) kept.push(entryOf(by, union(own?.fieldsV1 ?? NOTHING, mine), now))
  else if (own !== undefined) kept.push(own)
  return sorted(capped(kept))
}
const EMPTY_OBJECT = {}

/**
 * The entries to go on from: those the client sent, if it sent any that are well-formed; else the stored ones, so that a client that knows nothing of
 * managedFields does not lose them. An empty list, or a list of one empty entry, clears them. Writes to a subresource cannot set them.
 */
function startingEntries(old: KubeObject | undefined, object: KubeObject, subresource: string | undefined): readonly Entry[] {
  const stored = old?.metadata.managedFields
  const sent = object.metadata.managedFields
  if (sent === stored || (subresource ?? "") !== "") return entriesFrom(stored) ?? []
  if (sent !== undefined && (sent.length === 0 || (sent.length === 1 && isBlank(sent[0]!)))) return []
  const given = entriesFrom(sent)
  return given === undefined || given.length === 0 ? (entriesFrom(stored) ?? []) : given
}
const isBlank = (entry: ManagedFieldsEntry): boolean => Object.values(entry).every((value) => value === undefined)

export function withEntries<T extends KubeObject>(object: T, entries: readonly Entry[] | undefined): T {
  const given = object.metadata.managedFields
  const wanted = entries === undefined || entries.length === 0 ? undefined : entries
  if (given === wanted || (given !== undefined && wanted !== undefined && given.length === wanted.length && wanted.every((entry, i) => entry === given[i]))) return object
  if (wanted !== undefined) return { ...object, metadata: { ...object.metadata, managedFields: wanted } }
  const { managedFields: _given, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** Fields that nobody owns: they say which object it is, or are the server's. Source: stripmeta.go. */
const IDENTITY = new Set(["f:name", "f:namespace", "f:creationTimestamp", "f:selfLink", "f:uid", "f:clusterName", "f:generation", "f:managedFields", "f:resourceVersion", SELF])

const TYPE_AND_METADATA = new Set(["f:apiVersion", "f:kind", "f:metadata"])

export function withoutIdentity(set: FieldSet): FieldSet {
  const kept: Record<string, FieldSet> = {}
  const metadata = set["f:metadata"]
  for (const element in metadata) if (!IDENTITY.has(element)) kept[element] = metadata[element]!
  const node = nodeOf(kept)
  const out: Record<string, FieldSet> = node === undefined ? {} : { "f:metadata": node }
  for (const element in set) if (!TYPE_AND_METADATA.has(element)) out[element] = set[element]!
  return out
}

/** Without the fields that a write to this endpoint does not change: status in the main resource, everything but status in `/status`. Source: GetResetFields of the strategies. */
export function withoutReset(resource: { readonly subresources?: { readonly status?: unknown } }, set: FieldSet, subresource: string | undefined): FieldSet {
  if (resource.subresources?.status === undefined) return set
  if ((subresource ?? "") === "") return set["f:status"] === undefined ? set : without(set, STATUS)
  return subresource === "status" ? without(set, ALL_BUT_STATUS) : set
}
const STATUS = [["f:status"]]
const ALL_BUT_STATUS = [["f:spec"], ["f:metadata", "f:labels"]]

/** `old` when nothing but the times of managedFields differ: a write without effect must not make a revision. Source: endpoints/handlers/fieldmanager/equality.go. */
export function withoutIdleTimestamps<T extends KubeObject>(old: T, object: T): T {
  if (object === old) return old
  const [before, after] = [old.metadata.managedFields, object.metadata.managedFields]
  if (before === undefined || after === undefined || before.length !== after.length) return object
  // Most writes change something here, so it is looked at first.
  if (!deepEqual({ ...object, metadata: undefined }, { ...old, metadata: undefined })) return object
  const { managedFields: _after, ...metadata } = object.metadata
  const { managedFields: _before, ...oldMetadata } = old.metadata
  if (!deepEqual(metadata, oldMetadata)) return object
  const timeless = (entries: readonly ManagedFieldsEntry[]) => entries.map(({ time: _time, ...entry }) => entry)
  // Entries are sorted by time too, so each is looked for anywhere.
  const wanted = timeless(before)
  return timeless(after).every((entry) => wanted.some((other) => deepEqual(entry, other))) ? old : object
}

/** Under which name a request's changes are recorded: its fieldManager, else the first part of the user agent. Source: endpoints/handlers/create.go managerOrUserAgent. */
export function managerOf(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager !== undefined && fieldManager !== "") return fieldManager
  const name = (userAgent ?? "").split("/", 1)[0]!
  return (PLAIN.test(name) ? name : name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "")).slice(0, 128)
}
const PLAIN = /^[\x20-\x7e]*$/
