import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { formatMicroTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import type { StorageEvent } from "../../../../pkg/storage/storage.ts"
import { changesBetween, type FieldChange } from "../../../../pkg/history/changes.ts"
import { instant } from "../time/duration.ts"
import { shortForm } from "../../../../pkg/history/short-form.ts"

/** One revision of one object. */
export interface HistoryEntry {
  readonly revision: number
  readonly type: "create" | "update" | "delete"
  /** RFC 3339, in the cluster's time. */
  readonly time: string
  /** The user who wrote it. */
  readonly author: string
  /** The object after the write; for a delete its last state. */
  readonly object: KubeObject
  readonly previous: KubeObject | undefined
  /**
   * Returns the fields that this write changed, or that differ from an earlier entry of the object. All fields for a
   * create; metadata.managedFields and resourceVersion are left out.
   */
  diff(since?: Pick<HistoryEntry, "object">): readonly FieldChange[]
  /**
   * Returns one line: `12 2026-01-01T00:00:01.000000Z system:kube-scheduler update Pod default/web-0: Pending, on
   * node-1`.
   */
  toString(): string
}

/** Selects entries that match all given fields. */
export interface HistoryFilter {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  readonly type?: HistoryEntry["type"]
  readonly author?: string
  /** Only writes at this time or later. */
  readonly since?: string | Date
  /** Only writes after this revision. */
  readonly after?: number
}

/** Returns every kept revision, oldest first. */
export function historyOf(
  storage: MemoryStorage,
  { kind, namespace, name, type, author, since, after = 0 }: HistoryFilter = {},
  authorOf: (event: StorageEvent) => string = ({ author }) => author,
): readonly HistoryEntry[] {
  const earliest = since === undefined ? -Infinity : instant(since)
  return storage.since(Math.max(after, storage.compactedRevision)).flatMap((event) => {
    const { revision, type: did, time, stored, previous } = event
    const { object } = stored
    const { metadata } = object
    const by = authorOf(event)
    const wanted =
      (kind === undefined || object.kind === kind) &&
      (namespace === undefined || metadata.namespace === namespace) &&
      (name === undefined || metadata.name === name) &&
      (type === undefined || did === type) &&
      (author === undefined || by === author) &&
      time >= earliest
    return wanted ? [new Entry(revision, did, time, by, object, previous?.object)] : []
  })
}

class Entry implements HistoryEntry {
  readonly time: string
  constructor(
    readonly revision: number,
    readonly type: HistoryEntry["type"],
    time: number,
    readonly author: string,
    readonly object: KubeObject,
    readonly previous: KubeObject | undefined,
  ) {
    this.time = formatMicroTime(time)
  }

  diff(since?: Pick<HistoryEntry, "object">): readonly FieldChange[] {
    const before = since === undefined ? this.previous : since.object
    if (this.type === "delete" && since === undefined) return changesBetween(this.object, {})
    return changesBetween(before ?? {}, this.object)
  }

  toString(): string {
    return `${this.revision} ${this.time} ${this.author} ${this.type} ${shortForm(this.object)}`
  }
}
