import type { KubeObject } from "../apimachinery/resource.ts"
import { formatMicroTime } from "../apimachinery/time.ts"
import type { MemoryStorage } from "../storage/memory.ts"

/** One revision of one object. */
export interface HistoryEntry {
  readonly revision: number
  readonly type: "create" | "update" | "delete"
  /** RFC 3339, in the cluster's time. */
  readonly time: string
  /** User who wrote it. */
  readonly author: string
  /** After the write; of a delete the last state. */
  readonly object: KubeObject
  readonly previous: KubeObject | undefined
}

export interface HistoryFilter {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  readonly author?: string
  /** Only what came after this revision. */
  readonly after?: number
}

/** Every kept revision, oldest first. */
export function historyOf(
  storage: MemoryStorage,
  { kind, namespace, name, author, after = 0 }: HistoryFilter = {},
): readonly HistoryEntry[] {
  return storage
    .since(Math.max(after, storage.compactedRevision))
    .flatMap(({ revision, type, time, author: by, stored: { object }, previous }) => {
      const { metadata } = object
      const wanted =
        (kind === undefined || object.kind === kind) &&
        (namespace === undefined || metadata.namespace === namespace) &&
        (name === undefined || metadata.name === name) &&
        (author === undefined || by === author)
      return wanted
        ? [{ revision, type, time: formatMicroTime(time), author: by, object, previous: previous?.object }]
        : []
    })
}
