import { LogStorage, type LogStorageOptions } from "./log-storage.ts"
import { PackedObjects } from "./packed-objects.ts"
import type { StorageEvent } from "./storage.ts"
import { StoredObject, type Identity, type ParseObject } from "./stored-object.ts"

/** The objects that a store begins with. */
export interface Beginning {
  readonly revision: number
  readonly objects: readonly (Identity & { readonly value: Uint8Array })[]
  readonly parse: ParseObject
}

export interface MemoryStorageOptions extends LogStorageOptions {
  /**
   * The number of seldom-read objects that are compressed at once, after the log was compacted past them; by default
   * none are. It should be large, because each time many texts of their index are written again.
   */
  readonly packed?: number
}

/** The store of test clusters, which ends with the process. `recent` contains its whole log. */
export class MemoryStorage extends LogStorage {
  readonly #packedAtOnce: number
  readonly #packed = new PackedObjects()
  /** Objects that are to be compressed, in the order of their revisions. Some may have been written again since. */
  #unpacked: StoredObject[] = []

  constructor({ packed = Infinity, ...options }: MemoryStorageOptions, beginning?: Beginning) {
    super(options)
    this.#packedAtOnce = packed
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
  protected loggedRevisionAt(): number {
    return this.compactedRevision
  }
  protected dropUpTo(revision: number): void {
    const dropped = this.recent.dropUpTo(revision)
    if (this.#packedAtOnce !== Infinity) this.#pack(dropped)
  }
  protected closeMedium(): void {}

  #pack(events: readonly StorageEvent[]): void {
    for (const { key, stored } of events) {
      const live = this.live.get(key)
      if (live === stored && live.seldomRead) this.#unpacked.push(live)
    }
    if (this.#unpacked.length < this.#packedAtOnce) return
    const objects = this.#unpacked.filter((stored) => this.live.get(stored.key) === stored && !stored.isHeld)
    this.#unpacked = []
    this.#packed.add(objects)
    this.live.shelve(objects, this.#packed)
  }
}
