import type { ManagedFieldsEntry } from "../../meta.ts"
import { RecentValues } from "../../../cache/recent-values.ts"
import { canonicalSet } from "./canonical-set.ts"
import { isEmpty, isFieldSet, union, type FieldSet } from "./fieldset.ts"

/**
 * The entries of metadata.managedFields, which say which manager owns which fields. An entry is identified by manager,
 * operation and subresource, and for updates also by version. Source: apimachinery
 * pkg/util/managedfields/internal/{managedfields,capmanagers}.go.
 */
export interface Entry extends ManagedFieldsEntry {
  readonly operation: "Apply" | "Update"
  readonly fieldsV1: FieldSet
}

/** The identity under which a change is recorded. */
export interface ManagedBy {
  readonly manager: string
  readonly operation: "Apply" | "Update"
  readonly apiVersion: string
  readonly subresource?: string | undefined
}

/**
 * Returns the entries as sent or stored; undefined when one of them is malformed, which counts as if there were none.
 */
export function entriesFrom(managedFields: readonly ManagedFieldsEntry[] | undefined): readonly Entry[] | undefined {
  if (managedFields === undefined) return []
  if (!managedFields.every(isEntry)) return undefined
  return managedFields.every(({ fieldsV1 }) => canonicalSet(fieldsV1) === fieldsV1)
    ? managedFields
    : managedFields.map((entry) => withSet(entry, entry.fieldsV1) ?? entry)
}

/** Sets that are known to be well-formed, since the same sets return with every write. */
const checked = new RecentValues<object, true>()

function isEntry(entry: ManagedFieldsEntry): entry is Entry {
  if (entry.operation !== "Apply" && entry.operation !== "Update") return false
  if ((entry.apiVersion ?? "") === "" || entry.fieldsType !== "FieldsV1") return false
  const set = entry.fieldsV1
  if (typeof set === "object" && set !== null && checked.get(set) === true) return true
  if (!isFieldSet(set)) return false
  checked.set(set, true)
  return true
}

export const isBy = (entry: Entry, by: ManagedBy): boolean =>
  entry.manager === by.manager &&
  entry.operation === by.operation &&
  (entry.subresource ?? "") === (by.subresource ?? "") &&
  (by.operation === "Apply" || entry.apiVersion === by.apiVersion)

/** Makes an entry with its members in the order in which upstream writes them. */
export function entryOf(
  { manager, operation, apiVersion, subresource }: ManagedBy,
  fields: FieldSet,
  time: string | undefined,
): Entry {
  const set = canonicalSet(fields)
  checked.set(set, true)
  const entry: Entry =
    time === undefined
      ? { manager, operation, apiVersion, fieldsType: "FieldsV1", fieldsV1: set }
      : { manager, operation, apiVersion, time, fieldsType: "FieldsV1", fieldsV1: set }
  return subresource === undefined || subresource === "" ? entry : { ...entry, subresource }
}

/** Returns the entry with another set: the same object when the set is the same, undefined when the set is empty. */
export function withSet(entry: Entry, fields: FieldSet): Entry | undefined {
  const set = canonicalSet(fields)
  if (set === entry.fieldsV1) return entry
  if (isEmpty(set)) return undefined
  checked.set(set, true)
  return { ...entry, fieldsV1: set }
}

const compareText = (a: string | undefined, b: string | undefined): number =>
  (a ?? "") < (b ?? "") ? -1 : (a ?? "") > (b ?? "") ? 1 : 0
/**
 * Orders entries by time. Times are RFC 3339 in UTC in whole seconds, so their texts have their order; an absent time
 * comes first.
 */
const byOrder = (a: Entry, b: Entry): number =>
  compareText(a.operation, b.operation) ||
  compareText(a.time, b.time) ||
  compareText(a.manager, b.manager) ||
  compareText(a.apiVersion, b.apiVersion) ||
  compareText(a.subresource, b.subresource)

export const sorted = (entries: readonly Entry[]): readonly Entry[] =>
  entries.every((entry, i) => i === 0 || byOrder(entries[i - 1]!, entry) <= 0) ? entries : [...entries].sort(byOrder)

/** The most entries for updates; the oldest ones beyond it are merged. Entries for applies are never merged. */
const MOST_UPDATERS = 10
const ANCIENT = "ancient-changes"

/** Merges the entries of the oldest updates into one for each version, until there are few enough. */
export function capped(entries: readonly Entry[]): readonly Entry[] {
  if (entries.length <= MOST_UPDATERS) return entries
  const updaters = entries.filter(({ operation }) => operation === "Update")
  let surplus = updaters.length - MOST_UPDATERS
  if (surplus <= 0) return entries
  updaters.sort((a, b) => compareText(a.time, b.time) || compareText(a.manager, b.manager))
  const gone = new Set<Entry>()
  const buckets = new Map<string, Entry>()
  for (const entry of updaters) {
    if (surplus <= 0) break
    const version = entry.apiVersion ?? ""
    const bucket = buckets.get(version)
    gone.add(entry)
    // The first entry of a version becomes the merged one, so the number of entries stays the same.
    if (bucket !== undefined) surplus--
    const by: ManagedBy = { manager: ANCIENT, operation: "Update", apiVersion: version }
    buckets.set(version, entryOf(by, union(bucket?.fieldsV1 ?? {}, entry.fieldsV1), entry.time))
  }
  return [...entries.filter((entry) => !gone.has(entry)), ...buckets.values()]
}
