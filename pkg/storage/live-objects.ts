import type { Page } from "./page.ts"
import type { Stored } from "./storage.ts"
import type { StoredObject } from "./stored-object.ts"

/** The live objects of a store by key, and in the order of their keys. SortedKeys are the ones of a store in memory. */
export interface LiveObjects {
  get(key: string): Stored | undefined
  set(stored: StoredObject): void
  delete(key: string): void
  /** Returns all objects, in no order. */
  values(): readonly Stored[]
  /** Implements Storage.list. */
  startingWith(prefix: string): readonly Stored[]
  /** Implements Storage.page. */
  page(prefix: string, after: string | undefined, limit: number): Page<Stored>
}
