import type { KubeObject } from "../../apimachinery/resource.ts"
import type { LogEntry } from "../entry.ts"
import { objectId } from "./targets.ts"

/**
 * Adds to some writes what followed from those that delete: the end of an object that finalizers held, what had it as
 * an owner, and what was in a namespace. `entries` is the history from the first of these writes on, oldest first.
 */
export function withConsequences(entries: readonly LogEntry[], chosen: ReadonlySet<number>): ReadonlySet<number> {
  const undone = new Set(chosen)
  /** Objects whose deletion has begun, and the UIDs and names of namespaces among them. */
  const ending = new Set<string>()
  const gone = new Set<string>()
  const namespaces = new Set<string>()
  for (const entry of entries) {
    const { revision, object } = entry
    const isEnd = entry.verb === "delete" || beginsDeletion(entry)
    const follows = ending.has(objectId(entry)) || (isEnd && (namespaces.has(entry.namespace) || isOwned(object, gone)))
    if (follows) undone.add(revision)
    if (!undone.has(revision)) continue
    if (!isEnd) continue
    ending.add(objectId(entry))
    if (entry.verb === "delete") ending.delete(objectId(entry))
    if (object?.metadata.uid !== undefined) gone.add(object.metadata.uid)
    if (entry.kind === "Namespace" && entry.apiVersion === "v1") namespaces.add(entry.name)
  }
  return undone
}

/** Whether a write is a deletion that finalizers, or a grace period, hold up. */
export const beginsDeletion = ({ verb, object, previous }: LogEntry): boolean =>
  verb === "update" &&
  object?.metadata.deletionTimestamp !== undefined &&
  previous?.metadata.deletionTimestamp === undefined

const isOwned = (object: KubeObject | undefined, uids: ReadonlySet<string>): boolean =>
  object?.metadata.ownerReferences?.some(({ uid }) => uids.has(uid)) ?? false
