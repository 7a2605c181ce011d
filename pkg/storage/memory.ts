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
   * The number of seldom-read objects that are compressed at once; until then they are JSON, from when the log is
   * compacted past them. By default they stay objects.
   */
  readonly packed?: number
}

/** The store of test clusters, which ends with the process. `recent` contains its whole log. */
export class MemoryStorage extends LogStorage {
  readonly #packed: PackedObjects | undefined

  constructor({ packed, ...options }: MemoryStorageOptions, beginning?: Beginning) {
    super(options)
    this.#packed = packed === undefined ? undefined : new PackedObjects(packed)
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
    if (this.#packed !== undefined) this.#pack(dropped, this.#packed)
  }
  protected closeMedium(): void {}

  #pack(events: readonly StorageEvent[], packed: PackedObjects): void {
    const objects = events.flatMap(({ key, stored }) => {
      const live = this.live.here(key)
      return live !== undefined && live === stored && live.seldomRead && !live.isHeld ? [live] : []
    })
    packed.add(objects)
    this.live.shelve(objects, packed)
  }
}
