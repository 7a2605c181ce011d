/** What can forget what it remembers, such as a Map. */
interface Clearable {
  clear(): void
}

let caches: WeakRef<Clearable>[] = []
/** When there are so many, those that are not in use any more are removed from the list. */
let mostCaches = 64

/**
 * Returns the cache, which is cleared whenever the process comes to rest. For caches that only save time, or memory
 * among objects that are made one after the other. They are small, but what they remember of a busy time lies between
 * the garbage of that time, and so keeps many times its size from being given back to the system: a server at rest
 * after 2,400 pods came and went takes 72 MB, and 91 MB if its caches stay as they are.
 */
export function clearedAtRest<T extends Clearable>(cache: T): T {
  caches.push(new WeakRef<Clearable>(cache))
  if (caches.length >= mostCaches) {
    caches = caches.filter((ref) => ref.deref() !== undefined)
    mostCaches = 2 * caches.length + 64
  }
  return cache
}

/** Called when the process comes to rest. Takes some milliseconds. */
export function clearCachesAtRest(): void {
  for (const cache of caches) cache.deref()?.clear()
}
