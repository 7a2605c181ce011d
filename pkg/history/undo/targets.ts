import type { KubeObject } from "../../apimachinery/resource.ts"
import type { LogEntry } from "../entry.ts"
import { pushAll } from "../../lists/push-all.ts"
import { rebase, type FieldConflict, type Winner } from "./rebase.ts"
import { managersOf, rebaseManagers, withoutSystemFields, type ManagerEntry } from "./system-fields.ts"

/** What an object is to become when writes are undone. */
export interface Target {
  /** The newest entry of the object; it names the object. */
  readonly last: LogEntry
  /** The entries that are undone, oldest first. */
  readonly undone: readonly LogEntry[]
  /** Without what belongs to the system; undefined when the object was not there. */
  readonly object: KubeObject | undefined
  /** Who owns which fields of it; managers of the status are left out. */
  readonly managers: readonly ManagerEntry[]
  readonly conflicts: readonly FieldConflict[]
  /** Users who have written to the object since, and whose writes stay. */
  readonly others: readonly string[]
  /** The state before, with all that it had. */
  readonly before: KubeObject | undefined
}

/** Names the object of an entry: by group, kind, namespace and name. */
export const objectId = ({ apiVersion, kind, namespace, name }: LogEntry): string =>
  [apiVersion.includes("/") ? apiVersion.split("/")[0] : "", kind, namespace, name].join(" ")

/**
 * Returns what each object that the undone writes concern is to become. `entries` is the history of these objects from
 * the first undone write on, with objects, oldest first: writes among them that are not undone stay, on top of the
 * state before the first one that is.
 */
export function targetsOf(
  entries: readonly LogEntry[],
  undone: ReadonlySet<number>,
  winner: Winner,
): readonly Target[] {
  const byObject = Map.groupBy(entries, objectId)
  return [...byObject.values()].flatMap((writes) => {
    const first = writes.findIndex(({ revision }) => undone.has(revision))
    return first === -1 ? [] : [targetOf(writes.slice(first), undone, winner)]
  })
}

function targetOf(writes: readonly LogEntry[], undone: ReadonlySet<number>, winner: Winner): Target {
  const [first] = writes
  const before = first!.verb === "create" ? undefined : first!.previous
  let object = before === undefined ? undefined : withoutSystemFields(before)
  let managers: readonly ManagerEntry[] = rebaseManagers(managersOf(before), before, before ?? EMPTY)
  const conflicts: FieldConflict[] = []
  const others = new Set<string>()
  for (const entry of writes) {
    if (undone.has(entry.revision) || entry.verb !== "update") continue
    if (object !== undefined) managers = rebaseManagers(managers, entry.previous, entry.object!)
    if (isOfStatus(entry)) continue
    const [old, now] = [withoutSystemFields(entry.previous!), withoutSystemFields(entry.object!)]
    if (object !== undefined) {
      const made = rebase(object, old, now, winner)
      object = made.value as KubeObject
      pushAll(conflicts, made.conflicts)
    }
    others.add(entry.user)
  }
  return {
    last: writes.at(-1)!,
    undone: writes.filter(({ revision }) => undone.has(revision)),
    object,
    managers,
    conflicts,
    others: [...others],
    before,
  }
}

const EMPTY: KubeObject = { apiVersion: "", kind: "", metadata: {} }

/** Whether a write has only changed what belongs to the system. */
const isOfStatus = ({ subresource, changes }: LogEntry): boolean =>
  subresource === "status" || changes.every(({ path }) => path === "status" || path.startsWith("status."))
