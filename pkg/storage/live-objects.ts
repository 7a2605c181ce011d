import { Loans } from "./loans.ts"
import { firstOf, type Page } from "./page.ts"
import { Shelf, type Shelved } from "./shelf.ts"
import { resourceOf, SortedKeys } from "./sorted-keys.ts"
import type { Elsewhere, StoredObject } from "./stored-object.ts"

/** The live objects of a store by key, and in the order of their keys. */
export class LiveObjects {
  readonly #here = new SortedKeys<StoredObject>()
  /** For each resource, its objects of which only the key is in memory. */
  readonly #shelves = new Map<string, Shelf>()
  readonly #loans: Loans
  #elsewhere: Elsewhere | undefined

  constructor(frozen: boolean) {
    this.#loans = new Loans(frozen)
  }

  get(key: string): StoredObject | undefined {
    const here = this.#here.get(key)
    if (here !== undefined || this.#shelves.size === 0) return here
    const shelved = this.#shelfOf(key)?.get(key)
    return shelved && this.#loans.lendOne(shelved, this.#elsewhere!)
  }

  /** Returns an object that is in memory whole. */
  here(key: string): StoredObject | undefined {
    return this.#here.get(key)
  }

  set(stored: StoredObject): void {
    this.#here.set(stored)
    // A new object cannot have been on a shelf.
    if (this.#shelves.size > 0 && stored.created !== stored.revision) this.#unshelve(stored.key)
  }

  delete(key: string): void {
    this.#here.delete(key)
    if (this.#shelves.size > 0) this.#unshelve(key)
  }

  /** Returns the objects whose keys start with `prefix`, in the order of their keys. */
  startingWith(prefix: string): readonly StoredObject[] {
    const here = this.#here.startingWith(prefix)
    if (this.#shelves.size === 0) return here
    const resource = resourceOf(prefix)
    if (resource !== undefined && !this.#shelves.has(resource)) return here
    const shelved = this.#shelved(prefix)
    return shelved.length === 0 ? here : merged(here, this.#loans.lend(shelved, this.#elsewhere!))
  }

  /** Implements Storage.page. */
  page(prefix: string, after: string | undefined, limit: number): Page<StoredObject> {
    const here = this.#here.page(prefix, after, limit)
    const shelved = this.#shelfOf(prefix)?.page(prefix, after, limit)
    if (shelved === undefined || shelved.items.length === 0) return here
    const both = merged(here.items, this.#loans.lend(shelved.items, this.#elsewhere!))
    return firstOf(both, limit, here.remaining + shelved.remaining)
  }

  /** Returns all objects in no order, in a few milliseconds for a hundred thousand. */
  all(): readonly StoredObject[] {
    const here = this.#here.values()
    if (this.#shelves.size === 0) return here
    return [...here, ...this.#loans.lend(this.#shelved(""), this.#elsewhere!)]
  }

  /**
   * Makes the object, and every earlier result of a read of it, keep its content, because a staged write supersedes it.
   */
  hold(stored: StoredObject): void {
    stored.hold()
    if (this.#shelves.size > 0) this.#loans.hold(stored.key)
  }

  /**
   * From now on keeps only the keys of these objects in memory, and reads their content from `elsewhere`. Objects that
   * a staged write supersedes stay in memory, because their content may soon be deleted there.
   */
  shelve(objects: readonly StoredObject[], elsewhere: Elsewhere): void {
    this.#elsewhere = elsewhere
    for (const [prefix, group] of Map.groupBy(objects, ({ key }) => resourceOf(key) ?? "")) {
      const shelf = this.#shelves.get(prefix) ?? new Shelf(prefix)
      const added: StoredObject[] = []
      for (const stored of group)
        if (stored.isHeld || !shelf.holds(stored.key)) this.#here.set(stored)
        else {
          this.#here.delete(stored.key)
          added.push(stored)
        }
      shelf.add(added)
      if (!shelf.isEmpty) this.#shelves.set(prefix, shelf)
    }
  }

  /** Returns the objects on the shelves whose keys start with `prefix`, in the order of their keys. */
  #shelved(prefix: string): readonly Shelved[] {
    const shelves = [...this.#shelves].sort(([one], [other]) => (one < other ? -1 : 1))
    return shelves.flatMap(([, shelf]) => shelf.startingWith(prefix))
  }

  #shelfOf(key: string): Shelf | undefined {
    return this.#shelves.get(resourceOf(key) ?? "")
  }

  #unshelve(key: string): void {
    const shelf = this.#shelfOf(key)
    const shelved = shelf?.delete(key)
    if (shelved === undefined) return
    if (shelf!.isEmpty) this.#shelves.delete(resourceOf(key) ?? "")
    if (this.#elsewhere!.forget === undefined) return
    // Somebody may have got it after the write that takes it away was staged.
    this.#loans.hold(key)
    this.#elsewhere!.forget(shelved.revision)
  }
}

/** Merges two lists that are sorted by key. */
function merged(a: readonly StoredObject[], b: readonly StoredObject[]): readonly StoredObject[] {
  const all: StoredObject[] = []
  let i = 0
  for (const stored of b) {
    while (i < a.length && a[i]!.key < stored.key) all.push(a[i++]!)
    all.push(stored)
  }
  while (i < a.length) all.push(a[i++]!)
  return all
}
