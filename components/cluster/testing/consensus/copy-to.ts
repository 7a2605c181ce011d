import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import type { SharedChange } from "../../../../pkg/storage/replicated/shared-log.ts"
import { parseStored } from "../../../apiserver/store/parse-stored.ts"

const decoder = new TextDecoder()

/**
 * Copies changes of the simulated log to a store of the test, which so gets the same objects at the same revisions. Who
 * wrote them only the servers know.
 */
export function copyTo(storage: MemoryStorage, changes: readonly SharedChange[], clock: Clock): void {
  for (const { key, value } of changes) {
    const object = value === undefined ? null : parseStored(key, decoder.decode(value))
    void storage.write({ key, object, expected: undefined, time: clock.now(), author: "" })
  }
}
