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
  /** For each resource that was committed, those whom it concerns, since most commits change one resource only. */
  readonly #following = new Map<string, readonly Subscriber[]>()

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
    this.#following.clear()
    return () => {
      this.#subscribers.delete(subscriber)
      this.#following.clear()
    }
  }

  /**
   * Calls the listeners with those events of a commit that concern them. When one throws, the others are called too;
   * its error is passed to `failed`, or thrown when all were called.
   */
  tell(events: readonly StorageEvent[], failed?: (err: unknown) => void): void {
    const errors: unknown[] = []
    const only = onlyResource(events)
    const resources = only === undefined ? resourcesOf(events) : []
    for (const subscriber of only === undefined ? [...this.#subscribers] : this.#followersOf(only)) {
      // An earlier listener may have ended the subscription.
      if (!this.#subscribers.has(subscriber)) continue
      const { listener, prefixes } = subscriber
      try {
        if (prefixes.length === 0 || (only !== undefined && prefixes.includes(only))) listener(events)
        else {
          const concerned = events.filter(({ key }, i) => concerns(subscriber, key, only ?? resources[i]))
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
    this.#following.clear()
  }

  #followersOf(resource: string): readonly Subscriber[] {
    let found = this.#following.get(resource)
    if (found === undefined) {
      found = [...this.#subscribers].filter(({ resources }) => resources.length === 0 || resources.includes(resource))
      this.#following.set(resource, found)
    }
    return found
  }
}

/** Returns the resource of each event, which is found once for all subscribers. */
function resourcesOf(events: readonly StorageEvent[]): readonly (string | undefined)[] {
  let last: string | undefined
  return events.map(({ key }) => {
    // Neighbours mostly change the same resource.
    if (last === undefined || !key.startsWith(last)) last = resourceOf(key)
    return last
  })
}

function concerns({ prefixes, resources }: Subscriber, key: string, resource: string | undefined): boolean {
  for (let i = 0; i < prefixes.length; i++) {
    if (resources[i] !== resource) continue
    // Most prefixes are those of a whole resource.
    if (prefixes[i] === resource || key.startsWith(prefixes[i]!)) return true
  }
  return false
}

/** Returns the resource that all events change; undefined if they change several. */
function onlyResource(events: readonly StorageEvent[]): string | undefined {
  const first = resourceOf(events[0]!.key)
  if (first === undefined) return undefined
  for (let i = 1; i < events.length; i++) if (!events[i]!.key.startsWith(first)) return undefined
  return first
}
