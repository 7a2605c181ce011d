import type { KubeObject, Resource } from "../apimachinery/resource.ts"

/** The key of an object in work queues and informers: `<namespace>/<name>`, or `<name>` for cluster-wide kinds. */
export type Key = string

export const keyFrom = (ref: { readonly namespace?: string | undefined; readonly name?: string | undefined }): Key =>
  ref.namespace ? `${ref.namespace}/${ref.name ?? ""}` : (ref.name ?? "")
export function splitKey(key: Key): { readonly namespace?: string; readonly name: string } {
  const slash = key.indexOf("/")
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

export interface InformerHandlers<T> {
  added?(object: T): void
  updated?(object: T, old: T): void
  deleted?(last: T): void
  /**
   * Called before and after the others are called for all that a new list has changed: meanwhile the copy shows more
   * than the handlers have been told.
   */
  listing?(): void
  listed?(): void
}

/**
 * A local copy of one kind, kept up to date by list and watch. Its objects are shared and must not be changed. Handlers
 * are called after the copy has changed, in the order of revisions; a handler that is added later first gets `added`
 * for all present objects.
 */
export interface Informer<T extends KubeObject> {
  readonly resource: Resource<T>
  get(key: Key): T | undefined
  /** Returns all objects, or those of one namespace. */
  list(namespace?: string): readonly T[]
  /**
   * Returns objects by an index, for instance pods by node. The index is built at its first use and then kept up to
   * date.
   */
  by(index: Index<T>, value: string): readonly T[]
  /** Returns the objects whose controller (the owner reference with controller: true) is `owner`. */
  controlledBy(owner: KubeObject): readonly T[]
  on(handlers: InformerHandlers<T>): () => void
  /** Whether the first list is complete. */
  readonly synced: boolean
  whenSynced(): Promise<void>
  /** The newest revision in the copy (bookmarks included), to compare with a written object's resourceVersion. */
  readonly revision: number
}

/** A named way to group objects. The identity of this value is the identity of the index. */
export interface Index<T> {
  readonly name: string
  of(object: T): readonly string[]
}

/** What code that only reads needs of an informer. */
export type Lister<T extends KubeObject> = Pick<Informer<T>, "get" | "list" | "by">

/** Informers of which objects are only read. */
export interface Listers {
  of<T extends KubeObject>(resource: Resource<T>): Lister<T>
}

/** Returns the informer of a kind, which all callers share; the first call starts it. */
export interface Informers {
  of<T extends KubeObject>(resource: Resource<T>): Informer<T>
  /** Resolves when all informers requested so far have synced. */
  whenSynced(): Promise<void>
  /** The kinds whose first list is not complete, by their plural names. */
  pending(): readonly string[]
  /** Stops the informer of a kind that is no longer served, or whose schema has changed. */
  forget(resource: Resource): void
  stop(): void
}
