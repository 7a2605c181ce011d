import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { prefixOf } from "./keys.ts"
import type { PlacedWrite } from "./placed-write.ts"

/** How soon a controller replaces what others delete. */
const REPLACED_MS = 30_000

/**
 * Says who has deleted what, where the recording does not: watches show that something is gone, and not by whom. What
 * has a controller was deleted by that, unless the controller made another one instead; what had an owner that is gone,
 * by the garbage collector. `objects` are those at the beginning.
 */
export function withDeleters(
  writes: readonly PlacedWrite[],
  objects: ReadonlyMap<string, KubeObject>,
): readonly PlacedWrite[] {
  const live = new Map(objects)
  const uids = new Set([...objects.values()].map(({ metadata }) => metadata.uid))
  return writes.map((write, index) => {
    const { key, verb, object, user, clients } = write
    const before = live.get(key)
    if (verb === "delete") {
      live.delete(key)
      uids.delete(before?.metadata.uid)
    } else {
      live.set(key, object)
      uids.add(object.metadata.uid)
    }
    if (user !== "" || clients.length > 0 || before === undefined) return write
    const ends = verb === "delete"
    const begins = object.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined
    if (!ends && !begins) return write
    // A deletion that has begun is ended by the node or by whoever removes the last finalizer.
    if (ends && before.metadata.deletionTimestamp !== undefined)
      return { ...write, author: isPod(key) ? "node" : "controlled" }
    const owners = before.metadata.ownerReferences ?? []
    if (owners.length === 0) return write
    const controller = owners.find((owner) => owner.controller === true)
    const isOrphan = owners.every(({ uid }) => !uids.has(uid))
    const isReplaced = controller !== undefined && isReplacedAfter(writes, index, controller.uid)
    return { ...write, author: isOrphan || !isReplaced ? "controlled" : "outside" }
  })
}

const isPod = (key: string): boolean => key.startsWith("/registry/core/pods/")

/** Whether a controller has soon made another object of the kind. */
function isReplacedAfter(writes: readonly PlacedWrite[], index: number, controller: string): boolean {
  const { time, key } = writes[index]!
  for (let i = index + 1; i < writes.length && writes[i]!.time <= time + REPLACED_MS; i++) {
    const { verb, key: other, object } = writes[i]!
    if (verb !== "create" || prefixOf(other) !== prefixOf(key)) continue
    if (object.metadata.ownerReferences?.some(({ uid }) => uid === controller) === true) return true
  }
  return false
}
