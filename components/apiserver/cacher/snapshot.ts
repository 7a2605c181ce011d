import type { Storage, StorageEvent, Stored } from "../../../pkg/storage/storage.ts"

/** Returns the objects under `prefix` as they were before `events`, the last that changed them, in key order. */
export function listAt(storage: Storage, prefix: string, events: readonly StorageEvent[]): readonly Stored[] {
  const now = storage.list(prefix)
  if (events.length === 0) return now
  // The state of a key before the first of its events is the one that is wanted.
  const before = new Map<string, Stored | undefined>()
  for (const { key, previous } of events) if (!before.has(key)) before.set(key, previous)
  const kept = now.filter(({ key }) => !before.has(key))
  for (const stored of before.values()) if (stored !== undefined) kept.push(stored)
  return kept.sort((a, b) => (a.key < b.key ? -1 : 1))
}
