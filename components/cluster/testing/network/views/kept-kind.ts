import { StoredKind } from "../../../../apiserver/cacher/stored-kind.ts"
import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import { keyFrom, type Index, type Key, type Lister } from "../../../../../pkg/client/informer.ts"
import type { MemoryStorage } from "../../../../../pkg/storage/memory.ts"

/** An object from a revision on; undefined after it was deleted. */
interface Version<T> {
  readonly revision: number
  readonly object: T | undefined
}

export interface KeptKindOptions {
  /** Whether somebody may still ask for what an object was before a change. */
  keeps(): boolean
  /** Called after each change with its revision. */
  changed(revision: number): void
}

/** The objects of a kind as they are and as they were, as far as somebody may still not know what changed. */
export class KeptKind<T extends KubeObject> {
  /** By key, the oldest version first. */
  readonly #versions = new Map<Key, Version<T>[]>()
  /** The keys of objects that have, or had, a value of an index. */
  readonly #indexes = new Map<Index<T>, Map<string, Set<Key>>>()
  readonly #options: KeptKindOptions
  readonly #off: () => void

  constructor(storage: MemoryStorage, resource: Resource<T>, options: KeptKindOptions) {
    this.#options = options
    const stored = new StoredKind(storage, resource)
    for (const { object, revision } of stored.list()) this.#add(object, { revision, object })
    this.#off = stored.subscribe(({ type, stored: { object }, revision }) => {
      this.#add(object, { revision, object: type === "delete" ? undefined : object })
      options.changed(revision)
    })
  }

  /** Returns the objects at the revision that `revision` returns when they are read; Infinity for the newest. */
  at(revision: () => number): Lister<T> {
    return {
      get: (key) => this.#get(key, revision()),
      list: (namespace) =>
        [...this.#versions.keys()]
          .filter((key) => namespace === undefined || key.startsWith(`${namespace}/`))
          .flatMap((key) => this.#get(key, revision()) ?? []),
      by: (index, value) =>
        [...(this.#index(index).get(value) ?? [])].flatMap((key) => {
          const object = this.#get(key, revision())
          return object !== undefined && index.of(object).includes(value) ? object : []
        }),
    }
  }

  /** Drops versions that were replaced by `revision`. */
  forget(revision: number): void {
    for (const [key, versions] of this.#versions) {
      const first = versions.findLastIndex((version) => version.revision <= revision)
      if (first > 0) {
        this.#leave(key, versions.splice(0, first))
        this.#enter(key, versions)
      }
      if (versions.length === 1 && versions[0]!.object === undefined) this.#versions.delete(key)
    }
  }

  stop(): void {
    this.#off()
  }

  #get(key: Key, revision: number): T | undefined {
    return this.#versions.get(key)?.findLast((version) => version.revision <= revision)?.object
  }

  #add(object: T, version: Version<T>): void {
    const key = keyFrom(object.metadata)
    const keeps = this.#options.keeps()
    const known = this.#versions.get(key)
    if (known !== undefined && keeps) known.push(version)
    else {
      this.#leave(key, known ?? [])
      if (keeps || version.object !== undefined) this.#versions.set(key, [version])
      else this.#versions.delete(key)
    }
    this.#enter(key, [version])
  }

  #enter(key: Key, versions: readonly Version<T>[]): void {
    for (const [index, keys] of this.#indexes)
      for (const value of valuesOf(index, versions)) {
        const some = keys.get(value)
        if (some === undefined) keys.set(value, new Set([key]))
        else some.add(key)
      }
  }

  #leave(key: Key, versions: readonly Version<T>[]): void {
    for (const [index, keys] of this.#indexes)
      for (const value of valuesOf(index, versions)) {
        const some = keys.get(value)
        some?.delete(key)
        if (some?.size === 0) keys.delete(value)
      }
  }

  #index(index: Index<T>): ReadonlyMap<string, ReadonlySet<Key>> {
    const known = this.#indexes.get(index)
    if (known !== undefined) return known
    const keys = new Map<string, Set<Key>>()
    this.#indexes.set(index, keys)
    for (const [key, versions] of this.#versions) this.#enter(key, versions)
    return keys
  }
}

const valuesOf = <T extends KubeObject>(index: Index<T>, versions: readonly Version<T>[]): readonly string[] =>
  versions.flatMap(({ object }) => (object === undefined ? [] : index.of(object)))
