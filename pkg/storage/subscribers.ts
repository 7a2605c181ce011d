import { resourceOf } from "./sorted-keys.ts"
import type { StorageEvent } from "./storage.ts"

export type StorageListener = (events: readonly StorageEvent[]) => void

interface Subscriber {
  readonly listener: StorageListener
  /** The prefixes of the keys; empty for a listener to all events. */
  readonly prefixes: readonly string[]
  /** The resources of these prefixes. */
  readonly resources: readonly string[]
}

/**
 * The listeners of a store, which are called in the order of their subscriptions. There are some twenty, most of which
 * are for kinds that seldom change, so the keys of a commit are read once for all of them.
 */
export class Subscribers {
  readonly #subscribers = new Set<Subscriber>()

  /** Implements Storage.subscribe. @throws RangeError for a prefix that does not contain a whole resource */
  add(listener: StorageListener, prefixes: readonly string[]): () => void {
    const resources = prefixes.map((prefix) => {
      const resource = resourceOf(prefix)
      if (resource === undefined)
        throw new RangeError(
          `Cannot subscribe to ${JSON.stringify(prefix)}: expected the prefix of a resource, such as /registry/apps/jobs/`,
        )
      return resource
    })
    const subscriber = { listener, prefixes, resources }
    this.#subscribers.add(subscriber)
    return () => void this.#subscribers.delete(subscriber)
  }

  /**
   * Calls the listeners with those events of a commit that concern them. When one throws, the others are called too;
   * its error is passed to `failed`, or thrown when all were called.
   */
  tell(events: readonly StorageEvent[], failed?: (err: unknown) => void): void {
    const errors: unknown[] = []
    const changed = new Set<string | undefined>()
    for (const { key } of events) changed.add(resourceOf(key))
    const only = changed.size === 1 ? resourceOf(events[0]!.key) : undefined
    for (const { listener, prefixes, resources } of this.#subscribers) {
      try {
        // Most commits change one resource, and most listeners follow whole resources.
        if (prefixes.length === 0 || (only !== undefined && prefixes.includes(only))) listener(events)
        else if (resources.some((resource) => changed.has(resource))) {
          const concerned = events.filter(({ key }) => prefixes.some((prefix) => key.startsWith(prefix)))
          if (concerned.length > 0) listener(concerned)
        }
      } catch (err) {
        errors.push(err)
      }
    }
    if (errors.length > 0 && failed === undefined) throw errors[0]
    for (const err of errors) failed!(err)
  }

  clear(): void {
    this.#subscribers.clear()
  }
}
