import type { EndlessInstantError } from "../../../../pkg/clock/virtual.ts"
import { formatTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import type { StorageEvent } from "../../../../pkg/storage/storage.ts"
import { TestClusterError } from "../caller.ts"

/** How many writers, and how many of the last writes, the message has. */
const WRITERS = 3
const LAST_WRITES = 10

/**
 * Returns the error for an instant that does not end: with the writers in it, the last writes, and what keeps it
 * running.
 */
export function endlessInstant(
  err: EndlessInstantError,
  storage: MemoryStorage,
  now: number,
  replay: string,
): TestClusterError {
  const writes = storage.since(storage.compactedRevision).filter(({ time }) => time >= now)
  const writers = Map.groupBy(
    writes,
    ({ author, type, stored: { object } }) => `${author} ${VERBS[type]} ${object.kind}`,
  )
  const busiest = [...writers].sort(([, a], [, b]) => b.length - a.length).slice(0, WRITERS)
  return new TestClusterError(
    [
      `Time cannot advance from ${formatTime(now)} (${replay}): what happens at this instant never ends`,
      ...busiest.map(([who, { length }]) => `${who}: ${length} times`),
      ...(writes.length === 0 ? ["nothing was written"] : ["the last writes:"]),
      ...writes.slice(-LAST_WRITES).map((event) => `  ${inWords(event)}`),
      "its work was started by:",
      ...err.origins.map((origin) => `  ${origin}`),
    ].join("\n  "),
    { reason: "EndlessInstant" },
  )
}

const VERBS: Readonly<Record<StorageEvent["type"], string>> = {
  create: "creates",
  update: "updates",
  delete: "deletes",
}

const inWords = ({ type, author, stored: { object } }: StorageEvent): string => {
  const { namespace, name } = object.metadata
  return `${author} ${VERBS[type]} ${object.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`
}
