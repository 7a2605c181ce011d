import type { LogEntry } from "../../../history/entry.ts"
import { smallest } from "../../../lists/extremes.ts"
import { beginsDeletion } from "../../../history/undo/cascade.ts"
import type { Invocation } from "../../command/command.ts"
import type { Factory } from "../../factory/factory.ts"
import { isForbidden } from "../../errors/status-error.ts"
import { historyTargets, objectWords, readHistory, type HistoryQuery } from "../history/history-source.ts"
import type { UndoFlags } from "./undo-flags.ts"

/** Writes to undo, with the history of all that they may concern from the first of them on, oldest first. */
export interface Chosen {
  readonly revisions: ReadonlySet<number>
  readonly entries: readonly LogEntry[]
  /** What could not be read, in words. */
  readonly notes: readonly string[]
}

const MOST_WRITES = 10_000
/** The writes of one apply follow each other within this time, in milliseconds. */
const APPLY_GAP_MS = 5000
const APPLY_CLIENTS: ReadonlySet<string> = new Set(["kubectl-client-side-apply", "kubectl"])

/** Finds the writes that the command line means. @throws Error when there are none */
export async function chosenWrites(invocation: Invocation<UndoFlags>): Promise<Chosen> {
  const { args, flags, factory } = invocation
  const isAll = flags["all-namespaces"]
  const { namespace } = await factory.namespace()
  const own = { mapping: undefined, namespace: isAll ? "" : namespace } as const
  const all = (query: HistoryQuery) => readAll(factory, own, query)
  if (flags.at !== "")
    return everything([
      ...(isAll ? [] : await deletionOfNamespace(factory, namespace, flags.at)),
      ...(await all({ since: flags.at })),
    ])
  if (args.length > 0 && args.every((arg) => /^\d+$/.test(arg))) return ofRevisions(factory, args.map(Number))
  if (args.length > 0) return ofObjects(invocation)
  if (flags.apply) return around(factory, lastApply(await all({ since: flags.since, user: flags.user })))
  if (flags.user === "") throw invocation.usageError("name what to undo: revisions, objects, --user, --apply or --at")
  const writes = await all({ user: flags.user, since: flags.since === "" ? "1h" : flags.since })
  if (writes.length === 0) throw new Error(`${flags.user} has written nothing since then that is in the history`)
  return around(factory, writes)
}

const everything = (entries: readonly LogEntry[]): Chosen => ({
  revisions: new Set(entries.map(({ revision }) => revision)),
  entries: entries.toSorted((a, b) => a.revision - b.revision),
  notes: [],
})

/** The writes to a namespace since a time at which it existed, if it was deleted since; what is in it needs it first. */
async function deletionOfNamespace(factory: Factory, name: string, since: string): Promise<readonly LogEntry[]> {
  const mapping = await (await factory.restMapper()).restMapping("", "Namespace", "v1")
  try {
    const { entries } = await readHistory(factory, { mapping, namespace: "", name }, { since, objects: true })
    const wasDeleted = entries[0]?.verb !== "create" && entries.some(({ verb }) => verb === "delete")
    return wasDeleted ? entries : []
  } catch (err) {
    if (isForbidden(err)) return []
    throw err
  }
}

async function readAll(
  factory: Factory,
  target: { readonly mapping: undefined; readonly namespace: string },
  query: HistoryQuery,
): Promise<readonly LogEntry[]> {
  const { entries, more } = await readHistory(factory, target, { ...query, objects: true, limit: MOST_WRITES })
  if (more) throw new Error(`there are more than ${MOST_WRITES} writes since then: name a namespace, or a later point`)
  return entries
}

/** Reads the history from the first of some writes on: of their namespace, or of all where they are in several. */
async function around(factory: Factory, writes: readonly LogEntry[]): Promise<Chosen> {
  const namespaces = new Set(writes.map(({ namespace }) => namespace))
  const [only = ""] = namespaces.size === 1 ? namespaces : []
  const since = smallest(writes.map(({ revision }) => revision)) - 1
  const entries = await readAll(factory, { mapping: undefined, namespace: only }, { since: String(since) })
  return { revisions: new Set(writes.map(({ revision }) => revision)), entries, notes: [] }
}

async function ofRevisions(factory: Factory, revisions: readonly number[]): Promise<Chosen> {
  const found = await Promise.all(
    revisions.map(async (revision) => {
      const query = { since: String(revision - 1), until: String(revision) }
      const [entry] = await readAll(factory, { mapping: undefined, namespace: "" }, query)
      if (entry === undefined) throw new Error(`revision ${revision} is not in the history`)
      return entry
    }),
  )
  return around(factory, found)
}

/** The last write of a person to each of some objects. */
async function ofObjects({ args, factory }: Invocation<UndoFlags>): Promise<Chosen> {
  const targets = await historyTargets({ args, factory }, false)
  const found = await Promise.all(
    targets.map(async (target) => {
      if (target.mapping === undefined || target.name === "") throw new Error("name the objects: TYPE/NAME")
      const { entries } = await readHistory(factory, target, { objects: true })
      const last = entries.findLast(({ user }) => isPerson(user))
      if (last === undefined) throw new Error(`nobody has written ${target.name} in the history that is kept`)
      return { last, entries: entries.filter(({ revision }) => revision >= last.revision) }
    }),
  )
  const writes = found.map(({ last }) => last)
  const alone: Chosen = {
    revisions: new Set(writes.map(({ revision }) => revision)),
    entries: found.flatMap(({ entries }) => entries).sort((a, b) => a.revision - b.revision),
    notes: [],
  }
  const deleted = writes.filter((entry) => entry.verb === "delete" || beginsDeletion(entry))
  if (deleted.length === 0) return alone
  try {
    return await around(factory, writes)
  } catch (err) {
    if (!isForbidden(err)) throw err
    const what = deleted.map(objectWords).join(", ")
    return { ...alone, notes: [`what went with ${what} is not restored: you may not get /k3ts/history`] }
  }
}

/** Returns the writes of the newest apply: those of one user and client, one soon after the other. */
function lastApply(entries: readonly LogEntry[]): readonly LogEntry[] {
  const isApply = (entry: LogEntry) => isPerson(entry.user) && entry.clients.some((one) => APPLY_CLIENTS.has(one))
  const last = entries.findLast(isApply)
  if (last === undefined) throw new Error("there is no apply in the history that is kept")
  const group: LogEntry[] = []
  for (const entry of entries.toReversed()) {
    if (!isApply(entry) || entry.user !== last.user || entry.clients[0] !== last.clients[0]) continue
    const next = group.at(-1) ?? last
    if (Date.parse(next.time) - Date.parse(entry.time) > APPLY_GAP_MS) break
    group.push(entry)
  }
  return group
}

/** Whether a user is no component of the cluster. */
export const isPerson = (user: string): boolean => user === "system:admin" || !user.startsWith("system:")
