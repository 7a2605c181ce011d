import { LogStorage } from "./log-storage.ts"
import type { StorageEvent } from "./storage.ts"

/** A store that lives and ends with the process: test clusters. Its whole log is in `recent`. */
export class MemoryStorage extends LogStorage {
  history(key: string): readonly StorageEvent[] {
    const events = this.recent.filter((event) => event.key === key)
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
    return this.recent
  }
  protected loggedRevisionAt(): number {
    return this.compactedRevision
  }
  protected dropUpTo(revision: number): void {
    this.recent = this.recent.filter((event) => event.revision > revision)
  }
  protected closeMedium(): void {}
}
