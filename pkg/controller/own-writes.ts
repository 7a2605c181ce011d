import type { KubeObject, KubeObjectInput, Resource } from "../apimachinery/resource.ts"
import type { Client, ObjectRef } from "../client/client.ts"
import { keyFrom, type Informer } from "../client/informer.ts"

/** Something written during a reconcile that the informer of its kind has yet to show. */
export interface PendingWrite {
  readonly resource: Resource
  seenBy(informer: Informer<KubeObject>): boolean
}

/**
 * A client that notes what it writes. There is one store with one rising revision, so a write is visible in an informer exactly when the
 * informer has reached its revision; a deletion when the object is gone from it or marked for deletion.
 */
export function notingClient(client: Client, note: (write: PendingWrite) => void): Client {
  const wrote = <T extends KubeObject>(resource: Resource<T>, written: T): T => {
    const revision = Number(written.metadata.resourceVersion ?? 0)
    if (revision > 0) note({ resource, seenBy: (informer) => informer.revision >= revision })
    return written
  }
  // One is made for each reconcile, so what it does not note it has from `client` itself.
  return Object.assign(Object.create(client) as Client, {
    create: async <T extends KubeObject, I extends KubeObjectInput>(resource: Resource<T, I>, object: I, options = {}) => wrote(resource, await client.create(resource, object, options)),
    update: async <T extends KubeObject, I extends KubeObjectInput>(resource: Resource<T, I>, object: I, options = {}) => wrote(resource, await client.update(resource, object, options)),
    updateStatus: async <T extends KubeObject, I extends KubeObjectInput>(resource: Resource<T, I>, object: I, options = {}) => wrote(resource, await client.updateStatus(resource, object, options)),
    patch: async (resource, ref, patch, options = {}) => wrote(resource, await client.patch(resource, ref, patch, options)),
    delete: async (resource: Resource, ref: ObjectRef, options = {}) => {
      const answer = await client.delete(resource, ref, options)
      const key = keyFrom(ref)
      const uid = options.preconditions?.uid
      note({
        resource,
        seenBy: (informer) => {
          const left = informer.get(key)
          return left === undefined || left.metadata.deletionTimestamp !== undefined || (uid !== undefined && left.metadata.uid !== uid)
        },
      })
      return answer
    },
  } satisfies Partial<Client>)
}
