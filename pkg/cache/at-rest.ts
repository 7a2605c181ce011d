/** What can forget what it remembers, such as a Map. */
interface Clearable {
  clear(): void
}

let caches: WeakRef<Clearable>[] = []
/** When there are so many, those that are not in use any more are removed. */
let mostCaches = 64

/**
 * Returns the cache, which `forgetAtRest` clears from now on, as long as it is in use. For caches that only save time,
 * or memory among objects that are made one after the other. They are small, but what they remember of a busy time lies
 * between the garbage of that time, and so keeps many times its size from being given back to the system.
 */
export function clearedAtRest<T extends Clearable>(cache: T): T {
  caches.push(new WeakRef(cache))
  if (caches.length >= mostCaches) {
    caches = caches.filter((known) => known.deref() !== undefined)
    mostCaches = 2 * caches.length + 64
  }
  return cache
}

/** Clears the caches of the process that are cleared at rest. */
export function forgetAtRest(): void {
  for (const cache of caches) cache.deref()?.clear()
}
