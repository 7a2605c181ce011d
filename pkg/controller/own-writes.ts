import type { KubeObject, KubeObjectInput, Resource } from "../apimachinery/resource.ts"
import type {
  Client,
  DeleteCallOptions,
  ListOptions,
  ObjectRef,
  Patch,
  PatchOptions,
  Watch,
  WatchHandlers,
  WatchOptions,
  WriteOptions,
} from "../client/client.ts"
import { keyFrom, type Informer } from "../client/informer.ts"

/** A write of a reconcile that the informer of the written kind does not show yet. */
export interface PendingWrite {
  readonly resource: Resource
  seenBy(informer: Informer<KubeObject>): boolean
}

/**
 * A client that records the writes of one reconcile. The store has one rising revision, so an informer shows a write
 * when it has reached the write's revision, and a deletion when the object is gone or marked for deletion.
 */
export class NotingClient implements Client {
  readonly #deleted: PendingWrite[] = []
  /** The newest revision written, by kind. An informer that has reached it shows all earlier writes too. */
  readonly #newest = new Map<Resource, number>()
  /** Whether a write was refused, for any reason. */
  refused = false
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** One entry for each kind, regardless of the number of writes, and one for each deletion. */
  get written(): readonly PendingWrite[] {
    if (this.#newest.size === 0) return this.#deleted
    const newest = [...this.#newest].map(([resource, revision]): PendingWrite => ({
      resource,
      seenBy: (informer) => informer.revision >= revision,
    }))
    return [...newest, ...this.#deleted]
  }

  async create<T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    object: I,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#wrote(resource, await this.#tried(this.#client.create(resource, object, options)))
  }
  async update<T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    object: I,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#wrote(resource, await this.#tried(this.#client.update(resource, object, options)))
  }
  async updateStatus<T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    object: I,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#wrote(resource, await this.#tried(this.#client.updateStatus(resource, object, options)))
  }
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options?: PatchOptions & { readonly subresource?: string },
  ): Promise<T> {
    return this.#wrote(resource, await this.#tried(this.#client.patch(resource, ref, patch, options)))
  }
  async delete(resource: Resource, ref: ObjectRef, options?: DeleteCallOptions): Promise<unknown> {
    const answer = await this.#tried(this.#client.delete(resource, ref, options))
    const key = keyFrom(ref)
    const uid = options?.preconditions?.uid
    this.#deleted.push({
      resource,
      seenBy(informer) {
        const left = informer.get(key)
        return (
          left === undefined ||
          left.metadata.deletionTimestamp !== undefined ||
          (uid !== undefined && left.metadata.uid !== uid)
        )
      },
    })
    return answer
  }

  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options?: { readonly resourceVersion?: string }) {
    return this.#client.get(resource, ref, options)
  }
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions) {
    return this.#client.list(resource, options)
  }
  deleteCollection(resource: Resource, list: ListOptions, options?: DeleteCallOptions) {
    return this.#tried(this.#client.deleteCollection(resource, list, options))
  }
  getSubresource<A = unknown>(resource: Resource, ref: ObjectRef, subresource: string) {
    return this.#client.getSubresource<A>(resource, ref, subresource)
  }
  createSubresource<A = unknown>(resource: Resource, ref: ObjectRef, subresource: string, object: object) {
    return this.#tried(this.#client.createSubresource<A>(resource, ref, subresource, object))
  }
  updateSubresource<A = unknown>(resource: Resource, ref: ObjectRef, subresource: string, object: object) {
    return this.#tried(this.#client.updateSubresource<A>(resource, ref, subresource, object))
  }
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions, handlers: WatchHandlers<T>): Watch {
    return this.#client.watch(resource, options, handlers)
  }

  async #tried<T>(write: Promise<T>): Promise<T> {
    try {
      return await write
    } catch (err) {
      this.refused = true
      throw err
    }
  }

  #wrote<T extends KubeObject>(resource: Resource<T>, written: T): T {
    const revision = Number(written.metadata.resourceVersion ?? 0)
    const kind = resource as unknown as Resource
    if (revision > (this.#newest.get(kind) ?? 0)) this.#newest.set(kind, revision)
    return written
  }
}
