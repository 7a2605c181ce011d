/** Checks lists and watches against the log of the servers. */
import type { HistoryEntry } from "../../../components/cluster/testing/testing.ts"
import type { Value } from "./linearizable.ts"

/** A change of an object that the servers have agreed on. */
export type Change = Pick<HistoryEntry, "type" | "revision" | "object">

export interface SeenEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly name: string
  readonly value: Value
  readonly revision: number
}

/** One informer: a list, and the events of its watches afterwards, through any servers. */
export interface SeenByInformer {
  readonly by: string
  readonly listedAt: number
  readonly listed: ReadonlyMap<string, Value>
  readonly events: readonly SeenEvent[]
  /** Whether its last watch was open at the end. */
  readonly isOpen: boolean
}

/** An acknowledged write. */
export interface AcknowledgedWrite {
  readonly by: string
  readonly name: string
  readonly value: Value
  readonly revision: number
  readonly called: number
  readonly returned: number
}

export const valueOf = (object: object): Value =>
  (object as { data?: Readonly<Record<string, string>> }).data?.["v"] ?? ""

/** Returns what is wrong with an informer's list and events, given all changes of the kind. */
export function informerFaults(
  { by, listedAt, listed, events, isOpen }: SeenByInformer,
  changes: readonly Change[],
): readonly string[] {
  const state = new Map<string, Value>()
  for (const change of changes) {
    if (change.revision > listedAt) break
    if (change.type === "delete") state.delete(nameOf(change))
    else state.set(nameOf(change), valueOf(change.object))
  }
  const faults: string[] = []
  if (inWords(state) !== inWords(listed))
    faults.push(`${by}: the list at ${listedAt} has ${inWords(listed)}, but there was ${inWords(state)}`)
  const wanted = changes.filter(({ revision }) => revision > listedAt).map(eventOf)
  const told = events.map(line)
  const differs = told.findIndex((event, i) => event !== wanted[i])
  if (differs >= 0)
    faults.push(`${by}: event ${differs} is ${told[differs]}, but ${wanted[differs] ?? "nothing"} was next`)
  else if (isOpen && told.length < wanted.length)
    faults.push(`${by}: its watch is open, but was never told of ${wanted[told.length]}`)
  return faults
}

/** Returns which acknowledged writes were lost, or have revisions in another order than they happened. */
export function writeFaults(writes: readonly AcknowledgedWrite[], changes: readonly Change[]): readonly string[] {
  const byRevision = new Map(changes.map((change) => [change.revision, change]))
  const lost = writes.filter(({ name, value, revision }) => {
    const change = byRevision.get(revision)
    if (change === undefined || nameOf(change) !== name) return true
    return value === null ? change.type !== "delete" : valueOf(change.object) !== value
  })
  const ordered = writes.toSorted((a, b) => a.returned - b.returned)
  const late = writes.filter((write) => {
    const before = ordered.filter(({ returned }) => returned < write.called)
    return before.some(({ revision }) => revision >= write.revision)
  })
  return [
    ...lost.map(
      ({ by, name, value, revision }) => `${by}: write ${revision} of ${name} = ${value} was acknowledged and lost`,
    ),
    ...late.map(
      ({ by, name, revision }) => `${by}: write ${revision} of ${name} has an earlier revision than one before it`,
    ),
  ]
}

const nameOf = ({ object }: Change): string => object.metadata.name ?? ""

const TYPES = { create: "ADDED", update: "MODIFIED", delete: "DELETED" } as const

const eventOf = (change: Change): string =>
  line({
    type: TYPES[change.type],
    name: nameOf(change),
    value: valueOf(change.object),
    revision: change.revision,
  })

const line = ({ type, name, value, revision }: SeenEvent): string => `${type} ${name} = ${value} at ${revision}`

const inWords = (state: ReadonlyMap<string, Value>): string =>
  [...state]
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(" ")
