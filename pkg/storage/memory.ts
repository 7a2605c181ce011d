import { LogStorage, type LogStorageOptions } from "./log-storage.ts"
import type { StorageEvent } from "./storage.ts"
import { StoredObject, type Identity, type ParseObject } from "./stored-object.ts"

/** The objects with which a store begins. */
export interface Beginning {
  readonly revision: number
  readonly objects: readonly (Identity & { readonly value: Uint8Array })[]
  readonly parse: ParseObject
}

/** The store of test clusters, which ends with the process. `recent` holds its whole log. */
export class MemoryStorage extends LogStorage {
  constructor(options: LogStorageOptions, beginning?: Beginning) {
    super(options)
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
    this.recent.dropUpTo(revision)
  }
  protected closeMedium(): void {}
}
