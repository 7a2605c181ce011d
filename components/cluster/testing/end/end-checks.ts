import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Transport, Watch } from "../../../../pkg/client/client.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"

/** Counts watches that a test did not close. */
export class OpenWatches {
  readonly #open = new Map<Watch, string>()

  /** Returns `transport` with its watches counted under the name `owner`. */
  counted(transport: Transport, owner: string): Transport {
    return {
      call: (call, signal) => transport.call(call, signal),
      watch: (resource, options, handlers) => {
        const counted: Watch = {
          close: () => {
            this.#open.delete(counted)
            inner.close()
          },
        }
        this.#open.set(counted, `${owner} watches ${resource.plural}`)
        const inner = transport.watch(resource, options, {
          onEvent: (event) => handlers.onEvent(event),
          onEnd: (error) => {
            this.#open.delete(counted)
            handlers.onEnd(error)
          },
        })
        return counted
      },
    }
  }

  get left(): readonly string[] {
    return [...this.#open.values()]
  }
}

/** Checks that revisions only rise. Returns a function that ends this and returns the faults. */
export function watchRevisions(storage: MemoryStorage): () => readonly string[] {
  let last = storage.revision
  const faults: string[] = []
  const off = storage.subscribe((events) => {
    for (const { revision, key } of events) {
      if (revision <= last && faults.length < 10) faults.push(`revision ${revision} of ${key} came after ${last}`)
      last = Math.max(last, revision)
    }
  })
  return () => {
    off()
    return faults
  }
}

/**
 * Returns a line for each object whose owners are all deleted and that nothing is about to delete. A cluster-wide
 * object that names a namespaced owner stays for ever.
 */
export function orphans(storage: MemoryStorage, resources: readonly Resource[]): readonly string[] {
  const objects = storage.list("/").map(({ object }) => object)
  const uids = new Set(objects.map(({ metadata }) => metadata.uid))
  const scopes = new Map(resources.map(({ apiVersion, kind, scope }) => [`${apiVersion} ${kind}`, scope]))
  const isOrphan = ({ metadata: { namespace, ownerReferences = [], deletionTimestamp } }: KubeObject): boolean =>
    deletionTimestamp === undefined &&
    ownerReferences.length > 0 &&
    ownerReferences.every(({ uid, apiVersion, kind }) => {
      const scope = scopes.get(`${apiVersion} ${kind}`)
      return !uids.has(uid) && scope !== undefined && (scope === "Cluster" || namespace !== undefined)
    })
  return objects
    .filter(isOrphan)
    .map(
      ({ kind, metadata: { namespace, name, ownerReferences = [] } }) =>
        `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name} is an orphan of ` +
        `${ownerReferences.map((owner) => `${owner.kind} ${owner.name}`).join(", ")}`,
    )
}
