import { lastIndex } from "./recent-events.ts"
import { StorageError, type LogFilter, type StorageEvent } from "./storage.ts"

/** @throws StorageError compacted, when events after `revision` may have been deleted */
export function checkKept(revision: number, compacted: number): void {
  if (revision < compacted)
    throw new StorageError(
      "compacted",
      `Cannot read the log after revision ${revision}: revisions up to ${compacted} have been compacted`,
    )
}

/** Returns the events up to revision `upTo` that the filter selects, of events in the order of their revisions. */
export function selectedEvents(
  events: readonly StorageEvent[],
  upTo: number,
  { key, prefix, author }: LogFilter,
): readonly StorageEvent[] {
  const count = 1 + lastIndex(events.length, (i) => events[i]!.revision <= upTo)
  return events
    .slice(0, count)
    .filter(
      (event) =>
        (key === undefined || event.key === key) &&
        (prefix === undefined || event.key.startsWith(prefix)) &&
        (author === undefined || event.author === author),
    )
}
