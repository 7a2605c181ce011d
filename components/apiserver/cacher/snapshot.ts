import type { Storage, Stored } from "../../../pkg/storage/storage.ts"

/** Returns the objects under `prefix` as they were at `revision`, in key order. @throws StorageError compacted */
export function listAt(storage: Storage, prefix: string, revision: number): readonly Stored[] {
  const now = storage.list(prefix)
  if (revision === storage.revision) return now
  const events = storage.since(revision, prefix)
  if (events.length === 0) return now
  // The state of a key before its first event after `revision` is its state at `revision`.
  const before = new Map<string, Stored | undefined>()
  for (const { key, previous } of events) if (!before.has(key)) before.set(key, previous)
  const kept = now.filter(({ key }) => !before.has(key))
  for (const stored of before.values()) if (stored !== undefined) kept.push(stored)
  return kept.sort((a, b) => (a.key < b.key ? -1 : 1))
}
