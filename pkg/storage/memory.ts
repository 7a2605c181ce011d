import { LogStorage } from "./log-storage.ts"
import type { StorageEvent } from "./storage.ts"

/** The store of test clusters, which ends with the process. `recent` holds its whole log. */
export class MemoryStorage extends LogStorage {
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
