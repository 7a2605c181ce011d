import { deepEqual } from "../apimachinery/json/equal.ts"
import type { KubeObject } from "../apimachinery/resource.ts"

/** One write of the log, as `/k3ts/history` shows it. */
export interface LogEntry {
  readonly revision: number
  /** RFC 3339. */
  readonly time: string
  readonly verb: "create" | "update" | "delete"
  /** The user who wrote; empty where servers share a store and another one has written. */
  readonly user: string
  /** The field managers by which the user wrote (`kubectl-client-side-apply`); unknown for a deletion. */
  readonly clients: readonly string[]
  /** `status` or `scale` where the client wrote that; empty otherwise. */
  readonly subresource: string
  readonly apiVersion: string
  readonly kind: string
  /** Empty for kinds without namespaces. */
  readonly namespace: string
  readonly name: string
  readonly changes: readonly ChangedField[]
  /** The object after the write, for a deletion its last state; only where the request asks for objects. */
  readonly object?: KubeObject
  /** The object before the write. */
  readonly previous?: KubeObject
}

/** A field that a write changed. */
export interface ChangedField {
  readonly path: string
  /** Absent when the field was not there. */
  readonly before?: unknown
  readonly after?: unknown
}

/** What `/k3ts/history` answers. */
export interface LogPage {
  /** The oldest revision of which the state is known. */
  readonly begins: number
  /** The newest revision. */
  readonly revision: number
  /** Oldest first. */
  readonly entries: readonly LogEntry[]
  /** Whether older entries that match were left out, because of the limit. */
  readonly more: boolean
}

interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly time?: string
  readonly fieldsV1?: unknown
}

/** Times of managedFields are whole seconds. */
const SECOND_MS = 1000

/**
 * Returns who wrote the difference of two states, by their managedFields: field managers and the subresource. `time` is
 * that of the write, in milliseconds since the epoch.
 */
export function writtenBy(
  before: KubeObject | undefined,
  after: KubeObject,
  time: number,
): { readonly clients: readonly string[]; readonly subresource: string } {
  const old = managersOf(before)
  const entries = managersOf(after)
  const differ = entries.filter((entry) => !isKept(entry, old))
  // Another write of the same manager in the same second leaves its entry as it is.
  const isOfNow = ({ time: written = "" }: ManagedFields) => Math.abs(Date.parse(written) - time) < SECOND_MS
  const changed = differ.length > 0 ? differ : entries.filter(isOfNow)
  const clients = [...new Set(changed.map(({ manager = "" }) => manager))].filter((name) => name !== "")
  const subresources = new Set(changed.map(({ subresource = "" }) => subresource))
  return { clients, subresource: subresources.size === 1 ? [...subresources][0]! : "" }
}

/** Whether a manager has not written: its entry is as before, or has only lost fields to another one. */
function isKept(entry: ManagedFields, before: readonly ManagedFields[]): boolean {
  const old = before.find(
    (other) =>
      other.manager === entry.manager && other.operation === entry.operation && other.subresource === entry.subresource,
  )
  if (old === undefined) return false
  return old.time === entry.time && (deepEqual(old, entry) || fieldCount(entry.fieldsV1) < fieldCount(old.fieldsV1))
}

const fieldCount = (fields: unknown): number =>
  typeof fields === "object" && fields !== null
    ? Object.values(fields).reduce((sum: number, inner) => sum + 1 + fieldCount(inner), 0)
    : 0

const managersOf = (object: KubeObject | undefined): readonly ManagedFields[] =>
  (object?.metadata as { managedFields?: readonly ManagedFields[] } | undefined)?.managedFields ?? []
