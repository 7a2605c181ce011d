import type { ApiError } from "../apimachinery/errors.ts"
import type { KubeObject, KubeObjectInput, Resource } from "../apimachinery/resource.ts"
import type { ListMeta } from "../apimachinery/meta.ts"

/** A reference to an object, or the metadata of one. */
export interface ObjectRef {
  readonly name?: string | undefined
  readonly namespace?: string | undefined
}

export interface WriteOptions {
  readonly fieldManager?: string
  readonly dryRun?: boolean
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict"
}
export interface PatchOptions extends WriteOptions {
  /** For server-side apply: takes fields over from other managers. */
  readonly force?: boolean
}
export interface DeleteCallOptions {
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground"
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly dryRun?: boolean
}
export interface ListOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly limit?: number
  readonly continue?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan"
}
export interface WatchOptions extends ListOptions {
  readonly allowWatchBookmarks?: boolean
  readonly sendInitialEvents?: boolean
  readonly timeoutSeconds?: number
}

export type Patch =
  /** A merge patch (RFC 7386). */
  | { readonly type: "merge"; readonly body: unknown }
  | { readonly type: "strategic"; readonly body: unknown }
  /** A JSON patch (RFC 6902). */
  | { readonly type: "json"; readonly body: unknown }
  /** Server-side apply; needs a fieldManager. */
  | { readonly type: "apply"; readonly body: unknown }

export interface ObjectList<T> {
  readonly metadata: ListMeta
  readonly items: readonly T[]
}

export type WatchEvent<T = KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  /**
   * There are no more events of this kind up to object.metadata.resourceVersion. Also marks the end of requested
   * initial events.
   */
  | { readonly type: "BOOKMARK"; readonly object: KubeObject }
  | { readonly type: "ERROR"; readonly error: ApiError }

export interface WatchHandlers<T> {
  /**
   * Called with events in the order of their revisions, one at a time. The objects are shared and must not be changed.
   */
  onEvent(event: WatchEvent<T>): void
  /** Called once when the watch ends, unless `close` ended it: timeout, connection lost, 410 (in `error`). */
  onEnd(error: ApiError | undefined): void
}
export interface Watch {
  close(): void
}

/**
 * One request to the API as a value: the HTTP codec makes it from an HTTP request; a client in the same process passes
 * it directly. `object` and results are decoded; over HTTPS the transport encodes them.
 */
export interface ApiCall {
  readonly verb: "get" | "list" | "create" | "update" | "patch" | "delete" | "deletecollection"
  readonly resource: Resource
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly object?: KubeObjectInput | undefined
  readonly patch?: Patch | undefined
  readonly options?: (WriteOptions & PatchOptions & DeleteCallOptions & ListOptions) | undefined
}

/** The connection of a client to an API server: in the same process, or over HTTPS. Each transport acts as one user. */
export interface Transport {
  /** Returns an object, a list or a Status; throws ApiError. */
  call(call: ApiCall, signal?: AbortSignal): Promise<unknown>
  watch(resource: Resource, options: WatchOptions, handlers: WatchHandlers<KubeObject>): Watch
}

/** A typed client of the API. Returned objects are shared and must not be changed. All methods throw ApiError. */
export interface Client {
  get<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options?: { readonly resourceVersion?: string },
  ): Promise<T>
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<ObjectList<T>>
  create<T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    object: I,
    options?: WriteOptions,
  ): Promise<T>
  /** Fails with Conflict when the object's resourceVersion is not the stored one. */
  update<T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    object: I,
    options?: WriteOptions,
  ): Promise<T>
  updateStatus<T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    object: I,
    options?: WriteOptions,
  ): Promise<T>
  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options?: PatchOptions & { readonly subresource?: string },
  ): Promise<T>
  delete(resource: Resource, ref: ObjectRef, options?: DeleteCallOptions): Promise<unknown>
  deleteCollection(resource: Resource, list: ListOptions, options?: DeleteCallOptions): Promise<unknown>
  /** GET of a subresource with a kind of its own: `scale`. */
  getSubresource<A = unknown>(resource: Resource, ref: ObjectRef, subresource: string): Promise<A>
  /** POST to a subresource: `binding`, `eviction`, `token`. */
  createSubresource<A = unknown>(resource: Resource, ref: ObjectRef, subresource: string, object: object): Promise<A>
  /** PUT to a subresource other than status: `finalize`, `approval`, `scale`. */
  updateSubresource<A = unknown>(resource: Resource, ref: ObjectRef, subresource: string, object: object): Promise<A>
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions, handlers: WatchHandlers<T>): Watch
}
