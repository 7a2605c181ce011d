import { isNotFound, isReason } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerOf, controllerRef, orphans } from "../../../pkg/controller/owned.ts"

export interface Claim<T extends KubeObject> {
  readonly owner: KubeObject
  /** The owner's kind; before an adoption the API is asked whether the owner still exists. */
  readonly ownerResource: Resource
  readonly resource: Resource<T>
  readonly matches: (object: T) => boolean
  /** Objects for which this is false are neither returned nor changed. */
  readonly considers?: (object: T) => boolean
  /** A finalizer to set on adopted objects. */
  readonly finalizer?: string
}

/**
 * Returns the objects of `owner`: those it controls whose labels match. Matching orphans are adopted; controlled
 * objects that no longer match are released. Source: pkg/controller/controller_ref_manager.go.
 */
export async function claim<T extends KubeObject>(
  { owner, ownerResource, resource, matches, considers = () => true, finalizer }: Claim<T>,
  { client, informers }: Pick<ReconcileContext, "client" | "informers">,
): Promise<readonly T[]> {
  const informer = informers.of(resource)
  const candidates = [...informer.controlledBy(owner), ...informer.by(orphans, owner.metadata.namespace ?? "")]
  const claimed: T[] = []
  let mayAdopt: Promise<boolean> | undefined
  for (const object of candidates.filter(considers)) {
    const controller = controllerOf(object)
    if (controller !== undefined) {
      if (controller.uid !== owner.metadata.uid) continue
      if (matches(object)) claimed.push(object)
      else if (owner.metadata.deletionTimestamp === undefined) await release(object)
      continue
    }
    if (
      !matches(object) ||
      object.metadata.deletionTimestamp !== undefined ||
      owner.metadata.deletionTimestamp !== undefined
    )
      continue
    mayAdopt ??= stillThere()
    if (await mayAdopt) claimed.push(await adopt(object))
  }
  return claimed

  /**
   * Reads the owner from the API, not from the informer: an owner that was deleted, or deleted and recreated, must not
   * adopt.
   */
  async function stillThere(): Promise<boolean> {
    try {
      const fresh = await client.get(ownerResource, owner.metadata)
      return fresh.metadata.uid === owner.metadata.uid && fresh.metadata.deletionTimestamp === undefined
    } catch (err) {
      if (isNotFound(err)) return false
      throw err
    }
  }

  function adopt(object: T): Promise<T> {
    return client.patch(resource, object.metadata, {
      type: "strategic",
      body: {
        metadata: {
          uid: object.metadata.uid,
          ownerReferences: [controllerRef(owner)],
          ...(finalizer === undefined ? {} : { finalizers: [finalizer] }),
        },
      },
    })
  }

  async function release(object: T): Promise<void> {
    try {
      await client.patch(resource, object.metadata, {
        type: "strategic",
        body: {
          metadata: { uid: object.metadata.uid, ownerReferences: [{ $patch: "delete", uid: owner.metadata.uid }] },
        },
      })
    } catch (err) {
      // The object is gone, or another object has its name: there is nothing to release.
      if (!isNotFound(err) && !isReason(err, "Invalid", "Conflict")) throw err
    }
  }
}
