import type { View } from "./view.ts"

/**
 * Watchers that see the same part of a resource: what an event is to them is worked out once, and none is looked at for
 * an event elsewhere.
 */
export interface WatchGroup<W> {
  readonly view: View
  /** What the keys of the objects they see start with. */
  readonly prefix: string
  readonly watchers: Set<W>
}

/** Open watchers by resource and by the part of it that they see. Groups come and go with their watchers. */
export class WatchGroups<W> {
  readonly #byResource = new Map<string, Set<WatchGroup<W>>>()
  readonly #byView = new Map<View, Map<string, WatchGroup<W>>>()

  add(view: View, prefix: string, watcher: W): WatchGroup<W> {
    const group = this.#groupOf(view, prefix)
    group.watchers.add(watcher)
    return group
  }

  /** False when it was not there. */
  remove(group: WatchGroup<W>, watcher: W): boolean {
    if (!group.watchers.delete(watcher)) return false
    if (group.watchers.size > 0) return true
    const { view, prefix } = group
    dropFrom(this.#byView, view, (groups) => groups.delete(prefix))
    dropFrom(this.#byResource, view.prefix, (groups) => groups.delete(group))
    return true
  }

  /** Those of a resource, by the prefix of all its keys. */
  of(resourcePrefix: string): Iterable<WatchGroup<W>> | undefined {
    return this.#byResource.get(resourcePrefix)
  }

  *all(): Iterable<W> {
    for (const groups of this.#byResource.values()) for (const { watchers } of groups) yield* watchers
  }

  /** Number of watchers, by the prefix of their resource. */
  counts(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#byResource].map(([prefix, groups]) => [
        prefix,
        [...groups].reduce((sum, { watchers }) => sum + watchers.size, 0),
      ]),
    )
  }

  #groupOf(view: View, prefix: string): WatchGroup<W> {
    let groups = this.#byView.get(view)
    if (groups === undefined) this.#byView.set(view, (groups = new Map<string, WatchGroup<W>>()))
    let group = groups.get(prefix)
    if (group === undefined) {
      groups.set(prefix, (group = { view, prefix, watchers: new Set() }))
      const ofResource = this.#byResource.get(view.prefix)
      if (ofResource === undefined) this.#byResource.set(view.prefix, new Set([group]))
      else ofResource.add(group)
    }
    return group
  }
}

/** Takes something out of a collection, and the collection out of its map when nothing is left. */
function dropFrom<K, C extends { readonly size: number }>(map: Map<K, C>, key: K, drop: (collection: C) => void): void {
  const collection = map.get(key)
  if (collection === undefined) return
  drop(collection)
  if (collection.size === 0) map.delete(key)
}
