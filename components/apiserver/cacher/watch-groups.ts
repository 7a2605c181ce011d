import type { View } from "./view.ts"

/**
 * Watchers that see the same part of a resource. Each event is evaluated once for a group, and not at all for groups
 * that do not see its object.
 */
export interface WatchGroup<W> {
  readonly view: View
  /** The prefix of the keys of the objects they see. */
  readonly prefix: string
  readonly watchers: Set<W>
}

/** Open watchers by resource and by the part that they see. A group exists while it has watchers. */
export class WatchGroups<W> {
  readonly #byResource = new Map<string, Set<WatchGroup<W>>>()
  readonly #byView = new Map<View, Map<string, WatchGroup<W>>>()

  add(view: View, prefix: string, watcher: W): WatchGroup<W> {
    const group = this.#groupOf(view, prefix)
    group.watchers.add(watcher)
    return group
  }

  /** Returns false when the watcher was not there. */
  remove(group: WatchGroup<W>, watcher: W): boolean {
    if (!group.watchers.delete(watcher)) return false
    if (group.watchers.size > 0) return true
    const { view, prefix } = group
    dropFrom(this.#byView, view, (groups) => groups.delete(prefix))
    dropFrom(this.#byResource, view.prefix, (groups) => groups.delete(group))
    return true
  }

  /** The groups of a resource, by the prefix of its keys. */
  of(resourcePrefix: string): Iterable<WatchGroup<W>> | undefined {
    return this.#byResource.get(resourcePrefix)
  }

  *all(): Iterable<W> {
    for (const groups of this.#byResource.values()) for (const { watchers } of groups) yield* watchers
  }

  /** The number of watchers, by the prefix of their resource. */
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

/** Removes an item from a collection, and an empty collection from its map. */
function dropFrom<K, C extends { readonly size: number }>(map: Map<K, C>, key: K, drop: (collection: C) => void): void {
  const collection = map.get(key)
  if (collection === undefined) return
  drop(collection)
  if (collection.size === 0) map.delete(key)
}
