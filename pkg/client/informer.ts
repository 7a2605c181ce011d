import type { KubeObject, Resource } from "../apimachinery/resource.ts"

/** A key as work queues and informers use it: `<namespace>/<name>`, or `<name>` for cluster-wide kinds. */
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
}

/**
 * A local, always current copy of one kind, kept by list and watch. Objects in it are shared and never changed.
 * A handler is called after the copy has changed, in the order of revisions; one added late first gets `added` for all
 * that is there.
 */
export interface Informer<T extends KubeObject> {
  readonly resource: Resource<T>
  get(key: Key): T | undefined
  /** All, or those of one namespace. */
  list(namespace?: string): readonly T[]
  /** Objects by an index: for instance pods by node. The index is made at its first use and kept up to date. */
  by(index: Index<T>, value: string): readonly T[]
  /** Those whose controller (the owner reference with controller: true) is `owner`. */
  controlledBy(owner: KubeObject): readonly T[]
  on(handlers: InformerHandlers<T>): () => void
  /** The first list has been taken in. */
  readonly synced: boolean
  whenSynced(): Promise<void>
  /** The newest revision taken in (bookmarks included); compares with a written object's resourceVersion. */
  readonly revision: number
}

/** A named way to group objects; the identity of this value is the identity of the index. */
export interface Index<T> {
  readonly name: string
  of(object: T): readonly string[]
}

/** Gives the informer of a kind, one for all who ask; started with the first. */
export interface Informers {
  of<T extends KubeObject>(resource: Resource<T>): Informer<T>
  /** Resolves when every informer asked for so far has synced. */
  whenSynced(): Promise<void>
  /** Kinds that were asked for and whose first list has not been taken in, by their plural. */
  pending(): readonly string[]
  /** Ends the informer of a kind that is served no more, or otherwise than before. */
  forget(resource: Resource): void
  stop(): void
}
