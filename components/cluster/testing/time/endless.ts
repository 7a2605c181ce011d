import type { EndlessInstantError } from "../../../../pkg/clock/virtual.ts"
import { formatTime } from "../../../../pkg/apimachinery/time.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import type { StorageEvent } from "../../../../pkg/storage/storage.ts"
import { TestClusterError } from "../caller.ts"

/** So many of the writers, and of the last writes, are told. */
const WRITERS = 3
const LAST_WRITES = 10

/** What is told of an instant that does not end: who writes in it, the last writes, and who sets off what runs. */
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
      `Time cannot go on at ${formatTime(now)} (${replay}): what happens at this instant never ends`,
      ...busiest.map(([who, { length }]) => `${who}: ${length} times`),
      ...(writes.length === 0 ? ["nothing was written"] : ["the last writes:"]),
      ...writes.slice(-LAST_WRITES).map((event) => `  ${inWords(event)}`),
      "set off by:",
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
