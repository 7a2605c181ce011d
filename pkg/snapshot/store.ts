import type { SnapshotIndex } from "./format.ts"
import { timeInName } from "./names.ts"

/** A snapshot in a folder or a bucket. */
export interface ListedSnapshot {
  readonly name: string
  /** A URL: `file:///…` or `s3://…`. */
  readonly location: string
  /** In bytes. */
  readonly size: number
  /** The index of the snapshot, or why it cannot be read. */
  readonly content: SnapshotIndex | Error
}

/** A folder or a bucket of snapshots. */
export interface SnapshotStore {
  /** Lists the snapshots, the newest last. */
  list(): Promise<readonly ListedSnapshot[]>
  /** Deletes a snapshot. Returns whether there was one of this name. */
  delete(name: string): Promise<boolean>
}

/**
 * Deletes the oldest snapshots of this base and node so that `keep` are left, and returns their names. Damaged ones do
 * not count as kept, so that they do not displace the last usable one. With 0 all are kept, as in k3s
 * (pkg/etcd/snapshot.go snapshotRetention).
 */
export async function prune(
  store: SnapshotStore,
  { base, node, keep }: { readonly base: string; readonly node: string; readonly keep: number },
): Promise<readonly string[]> {
  if (keep === 0) return []
  const own = (await store.list())
    .flatMap(({ name, content }) => {
      const time = timeInName(name, base, node)
      return time === undefined ? [] : [{ name, time, whole: !(content instanceof Error) }]
    })
    .sort((a, b) => b.time - a.time)
  let kept = 0
  const old = own.filter(({ whole }) => (kept += whole ? 1 : 0) > keep || (kept === keep && !whole))
  for (const { name } of old) await store.delete(name)
  return old.map(({ name }) => name)
}
