import { LogStorage, type LogStorageOptions } from "./log-storage.ts"
import { selectedEvents } from "./log-filter.ts"
import { PackedObject, type Packing } from "./packed-object.ts"
import { SortedKeys } from "./sorted-keys.ts"
import type { LogFilter, StorageEvent, Stored } from "./storage.ts"
import { StoredObject, type Identity, type ParseObject } from "./stored-object.ts"

/** The objects that a store begins with. */
export interface Beginning {
  readonly revision: number
  readonly objects: readonly (Identity & { readonly value: Uint8Array })[]
  readonly parse: ParseObject
}

export interface MemoryStorageOptions extends LogStorageOptions {
  /** Whether seldom-read objects are compressed once the log is compacted past them. */
  readonly packs?: boolean
}

/** The store of test clusters, which ends with the process. `recent` contains its whole log. */
export class MemoryStorage extends LogStorage {
  protected readonly live = new SortedKeys<Stored>()
  readonly #packs: boolean
  /** With the first object that was packed as the dictionary. */
  #packing: Packing | undefined

  constructor({ packs = false, ...options }: MemoryStorageOptions, beginning?: Beginning) {
    super(options)
    this.#packs = packs
    if (beginning === undefined) return
    const { objects, revision, parse } = beginning
    const stored = objects.map((object) => new StoredObject(object, { json: object.value, parse }, this.frozen))
    this.restore(stored, revision, revision)
  }

  history(key: string): readonly StorageEvent[] {
    const events = this.recent.all.filter((event) => event.key === key)
    return events.slice(
      Math.max(
        0,
        events.findLastIndex(({ type }) => type === "create"),
      ),
    )
  }
  protected persist(): void {}
  protected tryMedium(): void {}
  protected eventsAfter(): readonly StorageEvent[] {
    return this.recent.all
  }
  protected loggedBetween(after: number, upTo: number, filter: LogFilter): readonly StorageEvent[] {
    return selectedEvents(this.recent.after(after), upTo, filter)
  }
  protected loggedRevisionAt(): number {
    return this.compactedRevision
  }
  protected dropUpTo(revision: number): void {
    const dropped = this.recent.dropUpTo(revision)
    if (this.#packs) for (const { key, stored } of dropped) this.#pack(key, stored)
  }
  protected closeMedium(): void {}

  #pack(key: string, stored: Stored): void {
    if (this.live.get(key) !== stored || !(stored instanceof StoredObject) || !stored.seldomRead) return
    this.#packing ??= { dictionary: stored.json, parse: undefined, frozen: this.frozen }
    this.live.set(new PackedObject(stored, this.#packing))
  }
}
