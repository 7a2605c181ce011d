/** What can forget what it remembers, such as a Map. */
interface Clearable {
  clear(): void
}

/** A part of the process, and how it saves memory. */
interface Saving {
  readonly part: WeakRef<object>
  readonly save: (part: object) => void
}

let savings: Saving[] = []
/** When there are so many, those of parts that are not in use any more are removed. */
let mostSavings = 64

/**
 * Returns the part, of which `save` is called from now on whenever the process comes to rest, as long as the part is in
 * use. `save` must get at the part by its argument only, or the part would be kept for ever; it must not throw.
 */
export function savingAtRest<T extends object>(part: T, save: (part: T) => void): T {
  savings.push({ part: new WeakRef(part), save: save as Saving["save"] })
  if (savings.length >= mostSavings) {
    savings = savings.filter((saving) => saving.part.deref() !== undefined)
    mostSavings = 2 * savings.length + 64
  }
  return part
}

/**
 * Returns the cache, which is cleared whenever the process comes to rest. For caches that only save time, or memory
 * among objects that are made one after the other. They are small, but what they remember of a busy time lies between
 * the garbage of that time, and so keeps many times its size from being given back to the system.
 */
export const clearedAtRest = <T extends Clearable>(cache: T): T => savingAtRest(cache, clear)

const clear = (cache: Clearable): void => cache.clear()

/** Called when the process comes to rest. Takes some milliseconds. */
export function saveMemoryAtRest(): void {
  for (const { part, save } of savings) {
    const used = part.deref()
    if (used !== undefined) save(used)
  }
}
