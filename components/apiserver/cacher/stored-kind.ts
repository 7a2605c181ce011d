import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Storage, StorageEvent, Stored } from "../../../pkg/storage/storage.ts"
import { storageKey, storagePrefix } from "./view.ts"

/** An object of the store, in its type. */
export type StoredOf<T extends KubeObject> = Stored & { readonly object: T }
/** A change of such an object. */
export type EventOf<T extends KubeObject> = StorageEvent & {
  readonly stored: StoredOf<T>
  readonly previous: StoredOf<T> | undefined
}

/**
 * The stored objects of one kind, and their changes, in their type: for code that keeps an index over a kind and is
 * told of each commit. Only for kinds that are stored as they are served (no `storedAs`).
 */
export class StoredKind<T extends KubeObject> {
  readonly prefix: string
  readonly #storage: Storage
  readonly #resource: Resource

  constructor(storage: Storage, resource: Resource<T>) {
    this.#storage = storage
    this.#resource = resource as Resource
    this.prefix = storagePrefix(this.#resource, undefined)
  }

  get(ref: { readonly namespace?: string | undefined; readonly name?: string | undefined }): StoredOf<T> | undefined {
    return this.#storage.get(storageKey(this.#resource, ref)) as StoredOf<T> | undefined
  }

  /** All objects of the kind, in the order of their keys. */
  list(): readonly StoredOf<T>[] {
    return this.#storage.list(this.prefix) as readonly StoredOf<T>[]
  }

  /**
   * Calls `listener` with every change of an object of the kind. Returns the function that ends the calls. An error
   * about one change does not keep the others of its commit from the listener.
   */
  subscribe(listener: (event: EventOf<T>) => void): () => void {
    return this.#storage.subscribe(
      (events) => {
        const errors: unknown[] = []
        for (const event of events)
          try {
            listener(event as EventOf<T>)
          } catch (err) {
            errors.push(err)
          }
        if (errors.length > 0) throw errors[0]
      },
      [this.prefix],
    )
  }
}
