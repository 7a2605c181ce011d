import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { storageKey, storagePrefix, viewOf, type ShowsAtOnce } from "./view.ts"

/** Reads one live object in its type. */
export type ObjectReader = Pick<Objects, "get">

/**
 * Typed reads of the store for admission, authorization and the registry, which need no client. A custom object that
 * only a webhook can convert is returned in the version in which it is stored.
 */
export class Objects {
  readonly #storage: Storage
  constructor(storage: Storage) {
    this.#storage = storage
  }
  get<T extends KubeObject>(
    resource: Resource<T>,
    ref: { readonly namespace?: string | undefined; readonly name?: string | undefined },
  ): T | undefined {
    const stored = this.#storage.get(storageKey(resource as Resource, ref))
    return stored === undefined ? undefined : (showing(resource as Resource)(stored).object as T)
  }
  /** Returns all objects, or those of one namespace, in the order of their keys. */
  list<T extends KubeObject>(resource: Resource<T>, namespace?: string): readonly T[] {
    const shown = showing(resource as Resource)
    return this.#storage.list(storagePrefix(resource as Resource, namespace)).map((stored) => shown(stored).object as T)
  }
}

const showing = (resource: Resource): ShowsAtOnce => viewOf(resource).atOnce ?? ((stored) => stored)
