import { isNotFound, isReason } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerOf, controllerRef } from "../../../pkg/controller/owned.ts"

export interface Claim<T extends KubeObject> {
  readonly owner: KubeObject
  /** The owner's own kind, asked before an adoption whether the owner still exists as we know it. */
  readonly ownerResource: Resource
  readonly resource: Resource<T>
  readonly matches: (object: T) => boolean
  readonly candidates: readonly T[]
  /** Set on what is adopted. */
  readonly finalizer?: string
}

/**
 * The objects that belong to `owner`: those it controls and whose labels match. Matching orphans are adopted,
 * controlled ones that match no more are released. Source: pkg/controller/controller_ref_manager.go.
 */
export async function claim<T extends KubeObject>(
  { owner, ownerResource, resource, matches, candidates, finalizer }: Claim<T>,
  { client }: Pick<ReconcileContext, "client">,
): Promise<readonly T[]> {
  const claimed: T[] = []
  let mayAdopt: Promise<boolean> | undefined
  for (const object of candidates) {
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

  /** Asks the API, not the informer: an owner that has been deleted, or deleted and made anew, must adopt nothing. */
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
      // Gone, or another object of that name by now: nothing left to release.
      if (!isNotFound(err) && !isReason(err, "Invalid", "Conflict")) throw err
    }
  }
}
