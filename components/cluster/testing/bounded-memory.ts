import { garbageCollector } from "../../../pkg/runtime/garbage.ts"
import type { MemoryStorage } from "../../../pkg/storage/memory.ts"

/** How many revisions are kept for watches that resume. */
const KEPT_REVISIONS = 250
/**
 * After this many revisions the earlier ones are dropped, and then garbage is collected, of which each revision leaves
 * some 50 kB. In this order, because what survives one collection stays until all of the heap is collected: most Events
 * are packed before their first.
 */
const COLLECTED_REVISIONS = 1500

/**
 * Limits the memory of a very large cluster to about what its objects need. History is limited by its length, since its
 * age does not grow while virtual time stands still. Both begin when the cluster `hasStarted`: until then the heap
 * grows by objects that stay, so that collections and the packing of Events take a tenth of the time and free almost
 * nothing.
 */
export function boundMemory(
  storage: MemoryStorage,
  hasStarted: () => boolean,
  collect: () => void = garbageCollector(),
): void {
  let collected = storage.revision
  storage.subscribe(([first]) => {
    if (!hasStarted() || storage.revision - collected < COLLECTED_REVISIONS) return
    collected = storage.revision
    // Never past a commit that is being told: a watcher that is told of it later would have to list everything again.
    storage.compact(Math.min(storage.revision - KEPT_REVISIONS, first!.revision - 1))
    collect()
  })
}
