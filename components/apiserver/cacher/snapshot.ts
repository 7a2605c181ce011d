import { firstOf, type Page } from "../../../pkg/storage/page.ts"
import type { Storage, StorageEvent, Stored } from "../../../pkg/storage/storage.ts"

/** Returns the objects under `prefix` as they were at `revision`, in key order. @throws StorageError compacted */
export const listAt = (storage: Storage, prefix: string, revision: number): readonly Stored[] =>
  listBefore(storage, prefix, changesSince(storage, prefix, revision))

/**
 * Returns the first `limit` of these objects whose key comes after `after`, if that is given. As long as none of them
 * has changed since `revision`, only these are found. @throws StorageError compacted
 */
export function pageAt(
  storage: Storage,
  prefix: string,
  revision: number,
  after: string | undefined,
  limit: number,
): Page<Stored> {
  const changes = changesSince(storage, prefix, revision)
  if (changes.length === 0) return storage.page(prefix, after, limit)
  const all = listBefore(storage, prefix, changes)
  return firstOf(after === undefined ? all : all.filter(({ key }) => key > after), limit)
}

const changesSince = (storage: Storage, prefix: string, revision: number): readonly StorageEvent[] =>
  revision === storage.revision ? [] : storage.since(revision, prefix)

/** Returns the objects under `prefix` as they were before `changes`, which are the last ones. */
function listBefore(storage: Storage, prefix: string, changes: readonly StorageEvent[]): readonly Stored[] {
  const now = storage.list(prefix)
  if (changes.length === 0) return now
  // The state of a key before the first of its changes is the one that is wanted.
  const before = new Map<string, Stored | undefined>()
  for (const { key, previous } of changes) if (!before.has(key)) before.set(key, previous)
  const kept = now.filter(({ key }) => !before.has(key))
  for (const stored of before.values()) if (stored !== undefined) kept.push(stored)
  return kept.sort((a, b) => (a.key < b.key ? -1 : 1))
}
