import { garbageCollector } from "../../../pkg/runtime/garbage.ts"
import type { MemoryStorage } from "../../../pkg/storage/memory.ts"

/** So many revisions are kept for watches that are taken up again. */
const KEPT_REVISIONS = 2000
/** Garbage is collected after so many: each leaves some 50 kB of it. */
const COLLECTED_REVISIONS = 2000

/**
 * Keeps a very large cluster's memory near what its objects need. History is forgotten by its length: where time stands
 * still, none of it grows old.
 */
export function boundMemory(storage: MemoryStorage): void {
  const collect = garbageCollector()
  let collected = storage.revision
  storage.subscribe(() => {
    if (storage.revision - storage.compactedRevision > 4 * KEPT_REVISIONS)
      storage.compact(storage.revision - KEPT_REVISIONS)
    if (storage.revision - collected < COLLECTED_REVISIONS) return
    collected = storage.revision
    collect()
  })
}
