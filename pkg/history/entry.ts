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
  readonly subresource?: string
}

/** Returns who wrote the difference of two states, by their managedFields: field managers and the subresource. */
export function writtenBy(
  before: KubeObject | undefined,
  after: KubeObject,
): { readonly clients: readonly string[]; readonly subresource: string } {
  const old = managersOf(before)
  const changed = managersOf(after).filter((entry) => !old.some((other) => deepEqual(entry, other)))
  const clients = [...new Set(changed.map(({ manager = "" }) => manager))].filter((name) => name !== "")
  const subresources = new Set(changed.map(({ subresource = "" }) => subresource))
  return { clients, subresource: subresources.size === 1 ? [...subresources][0]! : "" }
}

const managersOf = (object: KubeObject | undefined): readonly ManagedFields[] =>
  (object?.metadata as { managedFields?: readonly ManagedFields[] } | undefined)?.managedFields ?? []
