import type { KubeObject } from "../apimachinery/resource.ts"
import { RecentTexts } from "../cache/recent-texts.ts"
import { keyFrom, type Index, type Key } from "./informer.ts"

/** Groups objects by the uid of the owner that controls them. */
const BY_CONTROLLER: Index<KubeObject> = {
  name: "controller",
  of({ metadata }) {
    const controller = metadata.ownerReferences?.find((owner) => owner.controller === true)
    return controller === undefined ? NO_VALUES : [controller.uid]
  },
}
const BY_NAMESPACE: Index<KubeObject> = {
  name: "namespace",
  of: ({ metadata }) => (metadata.namespace === undefined ? [] : [metadata.namespace]),
}

/** Several informers of a process keep the same objects, by the same keys. */
const keys = new RecentTexts()

/**
 * Objects by key, and by each index that has been requested. The array of a list is made at most once between two
 * changes.
 */
export class ObjectCache<T extends KubeObject> {
  readonly #objects = new Map<Key, T>()
  readonly #indexes = new Map<Index<T>, Map<string, Group<T>>>()
  #all: readonly T[] | undefined

  get(key: Key): T | undefined {
    return this.#objects.get(key)
  }
  keys(): IterableIterator<Key> {
    return this.#objects.keys()
  }
  list(namespace: string | undefined): readonly T[] {
    return namespace === undefined ? (this.#all ??= [...this.#objects.values()]) : this.by(BY_NAMESPACE, namespace)
  }
  controlledBy(owner: KubeObject): readonly T[] {
    return owner.metadata.uid === undefined ? [] : this.by(BY_CONTROLLER, owner.metadata.uid)
  }

  by(index: Index<T>, value: string): readonly T[] {
    let groups = this.#indexes.get(index)
    if (groups === undefined) {
      this.#indexes.set(index, (groups = new Map<string, Group<T>>()))
      for (const [key, object] of this.#objects) for (const at of index.of(object)) put(groups, at, key, object)
    }
    return groups.get(value)?.list() ?? []
  }

  /** Stores the object. Returns the one that it replaced. */
  set(object: T): T | undefined {
    const asked = keyFrom(object.metadata)
    const old = this.#objects.get(asked)
    // A map keeps the key that it has, so that the text of one that it already has need not be shared.
    const key = old === undefined ? keys.of(asked) : asked
    this.#objects.set(key, object)
    this.#all = undefined
    for (const [index, groups] of this.#indexes) {
      const values = index.of(object)
      const before = old === undefined ? NO_VALUES : index.of(old)
      // An object seldom changes its index values. Where a value stays, the object keeps its position in the group.
      const [isNow, wasBefore] = [isIn(values), isIn(before)]
      for (const value of before) if (!isNow(value)) take(groups, value, key)
      for (const value of values) put(groups, value, wasBefore(value) ? key : keys.of(key), object)
    }
    return old
  }

  delete(key: Key): T | undefined {
    const old = this.#objects.get(key)
    if (old === undefined) return undefined
    this.#objects.delete(key)
    this.#all = undefined
    for (const [index, groups] of this.#indexes) for (const value of index.of(old)) take(groups, value, key)
    return old
  }
}

class Group<T> {
  readonly objects = new Map<Key, T>()
  #list: readonly T[] | undefined
  list(): readonly T[] {
    return (this.#list ??= [...this.objects.values()])
  }
  changed(): void {
    this.#list = undefined
  }
}

const NO_VALUES: readonly string[] = []

/** Up to this number of values a set costs more than a comparison with each. */
const FEW = 8
/** Returns what tells whether a value is among `values`: an object may have tens of thousands. */
function isIn(values: readonly string[]): (value: string) => boolean {
  if (values.length <= FEW) return (value) => values.includes(value)
  const all = new Set(values)
  return (value) => all.has(value)
}

function put<T>(groups: Map<string, Group<T>>, value: string, key: Key, object: T): void {
  let group = groups.get(value)
  if (group === undefined) groups.set(value, (group = new Group<T>()))
  group.objects.set(key, object)
  group.changed()
}

function take<T>(groups: Map<string, Group<T>>, value: string, key: Key): void {
  const group = groups.get(value)
  if (group === undefined) return
  group.objects.delete(key)
  if (group.objects.size === 0) groups.delete(value)
  else group.changed()
}
