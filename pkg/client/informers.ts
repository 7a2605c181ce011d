/**
 * Informers over any client: one list, then watches, each of which continues where the last one ended. Only when the
 * server no longer has the events since then (410) is the kind listed again, and handlers are called for the
 * differences. Source: client-go tools/cache reflector.go, shared_informer.go.
 *
 * There is no await between the update of the copy and the calls of the handlers, so a handler that reads the copy
 * finds the state of its event. Handlers must not block. In process, a handler gets the stored object itself.
 */
import { ApiError, isReason } from "../apimachinery/errors.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import type { Clock, Timer } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import { contain } from "../failure/contain.ts"
import type { Logger } from "../log/log.ts"
import type { Client, Watch, WatchEvent } from "./client.ts"
import { keyFrom, type Index, type Informer, type InformerHandlers, type Informers, type Key } from "./informer.ts"
import { ObjectCache } from "./object-cache.ts"

export interface InformersOptions {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /**
   * Field selectors of kinds of which the client's user may read only some objects: the informer asks for no others.
   */
  readonly fieldSelectors?: ReadonlyMap<Resource, string>
}

/** First and longest delay before another attempt. Source: reflector.go NewReflectorWithOptions. */
const FIRST_BACKOFF_MS = 800
const LONGEST_BACKOFF_MS = 30_000
/** When a connection has lasted this many milliseconds, the delay after its failure is the first one again. */
const GOOD_AFTER_MS = 10_000

export interface RetryingInformers extends Informers {
  /** Ends all waits before another attempt, because the server can be reached again. */
  retryNow(): void
}

const NONE: readonly string[] = []

type Change = "added" | "updated" | "deleted"

export function createInformers(options: InformersOptions): RetryingInformers {
  const informers = new Map<Resource, RunningInformer<KubeObject>>()
  /** Those that had not synced when they were last looked at. Each probe of /readyz looks at all that are left. */
  const unsynced = new Set<RunningInformer<KubeObject>>()
  return {
    of<T extends KubeObject>(resource: Resource<T>): Informer<T> {
      let informer = informers.get(resource)
      if (informer === undefined) {
        informers.set(resource, (informer = new RunningInformer<KubeObject>(resource, options)))
        unsynced.add(informer)
        informer.start()
      }
      return informer as unknown as Informer<T>
    },
    forget(resource) {
      const informer = informers.get(resource)
      informers.delete(resource)
      if (informer === undefined) return
      unsynced.delete(informer)
      informer.stop()
    },
    async whenSynced() {
      await Promise.all([...informers.values()].map((informer) => informer.whenSynced()))
    },
    pending() {
      if (unsynced.size === 0) return NONE
      for (const informer of unsynced) if (informer.synced) unsynced.delete(informer)
      return Array.from(unsynced, ({ resource }) => resource.plural)
    },
    retryNow() {
      for (const informer of informers.values()) informer.retryNow()
    },
    stop() {
      for (const informer of informers.values()) informer.stop()
      informers.clear()
      unsynced.clear()
    },
  }
}

class RunningInformer<T extends KubeObject> implements Informer<T> {
  readonly resource: Resource<T>
  readonly #options: InformersOptions
  readonly #cache = new ObjectCache<T>()
  readonly #handlers = new Set<InformerHandlers<T>>()
  #synced = false
  #revision = 0
  #whenSynced = Promise.withResolvers<void>()
  #watch: Watch | undefined
  #retry: { readonly timer: Timer; readonly again: () => void } | undefined
  #stopped = false
  #backoff = FIRST_BACKOFF_MS
  #connectedAt = 0
  /** Whether the last watch failed because its revision was compacted, and no watch has worked since. */
  #forgotten = false

  constructor(resource: Resource<T>, options: InformersOptions) {
    this.resource = resource
    this.#options = options
  }

  get synced(): boolean {
    return this.#synced
  }
  get revision(): number {
    return this.#revision
  }
  get(key: Key): T | undefined {
    return this.#cache.get(key)
  }
  list(namespace?: string): readonly T[] {
    return this.#cache.list(namespace)
  }
  by(index: Index<T>, value: string): readonly T[] {
    return this.#cache.by(index, value)
  }
  controlledBy(owner: KubeObject): readonly T[] {
    return this.#cache.controlledBy(owner)
  }
  whenSynced(): Promise<void> {
    return this.#whenSynced.promise
  }

  on(handlers: InformerHandlers<T>): () => void {
    this.#handlers.add(handlers)
    for (const object of this.#cache.list(undefined)) this.#call(handlers, "added", object)
    return () => void this.#handlers.delete(handlers)
  }

  start(): void {
    this.#relist().catch((err: unknown) => this.#failed(ApiError.from(err), true))
  }

  stop(): void {
    this.#stopped = true
    this.#watch?.close()
    this.#retry?.timer.cancel()
    this.#handlers.clear()
  }

  /** Ends the wait before another attempt, if there is one, and resets the delay. */
  retryNow(): void {
    if (this.#retry === undefined) return
    this.#retry.timer.cancel()
    this.#backoff = FIRST_BACKOFF_MS
    this.#retry.again()
  }

  async #relist(): Promise<void> {
    const { metadata, items } = await this.#options.client.list(this.resource, this.#selected())
    if (this.#stopped) return
    const gone = new Set(this.#cache.keys())
    for (const { metadata } of items) gone.delete(keyFrom(metadata))
    // A handler may start a reconcile, which must find the whole list, as `revision` says.
    this.#revision = Number(metadata.resourceVersion)
    const replaced = items.map((object) => this.#cache.set(object))
    const lost = [...gone].map((key) => this.#cache.delete(key))
    const told = [...this.#handlers]
    this.#bracket("listing", told)
    for (const [index, object] of items.entries()) this.#taken(object, replaced[index])
    for (const object of lost) if (object !== undefined) this.#tell("deleted", object)
    this.#bracket("listed", told)
    this.#synced = true
    this.#whenSynced.resolve()
    this.#follow()
  }

  #selected(): { readonly fieldSelector?: string } {
    const fieldSelector = this.#options.fieldSelectors?.get(this.resource as unknown as Resource)
    return fieldSelector === undefined ? {} : { fieldSelector }
  }

  #follow(): void {
    if (this.#stopped) return
    this.#connectedAt = this.#options.clock.monotonic()
    this.#watch = this.#options.client.watch(
      this.resource,
      { ...this.#selected(), resourceVersion: String(this.#revision), allowWatchBookmarks: true },
      {
        onEvent: (event) => this.#event(event),
        onEnd: (error) => this.#ended(error),
      },
    )
  }

  #event(event: WatchEvent<T>): void {
    if (this.#stopped || event.type === "ERROR") return
    this.#revision = Number(event.object.metadata.resourceVersion)
    this.#forgotten = false
    if (event.type === "BOOKMARK") return
    if (event.type !== "DELETED") this.#taken(event.object, this.#cache.set(event.object))
    else if (this.#cache.delete(keyFrom(event.object.metadata)) !== undefined) this.#tell("deleted", event.object)
  }

  /** Calls the handlers for an object that the cache has now, in the place of `old`. */
  #taken(object: T, old: T | undefined): void {
    if (old === undefined) this.#tell("added", object)
    // A relist finds most objects unchanged.
    else if (old !== object && old.metadata.resourceVersion !== object.metadata.resourceVersion)
      this.#tell("updated", object, old)
  }

  #ended(error: ApiError | undefined): void {
    if (this.#stopped) return
    if (isReason(error, "Expired", "Gone")) {
      const again = this.#forgotten && this.#options.clock.monotonic() - this.#connectedAt < GOOD_AFTER_MS
      this.#forgotten = true
      // A server that has compacted the revision it just listed is failing.
      if (again) this.#failed(error, true)
      else this.start()
      return
    }
    // Servers close watches regularly. A server that closes one right after its start is treated as failing.
    if (error === undefined && this.#options.clock.monotonic() - this.#connectedAt >= GOOD_AFTER_MS) this.#follow()
    else this.#failed(error, false)
  }

  #failed(error: ApiError | undefined, relist: boolean): void {
    if (this.#stopped) return
    const { clock, random, log } = this.#options
    if (clock.monotonic() - this.#connectedAt >= GOOD_AFTER_MS) this.#backoff = FIRST_BACKOFF_MS
    const wait = this.#backoff * (1 + random.next())
    this.#backoff = Math.min(this.#backoff * 2, LONGEST_BACKOFF_MS)
    if (error !== undefined)
      log.warn(relist ? "Cannot list, will try again" : "Watch failed, will try again", {
        resource: this.resource.plural,
        error,
        waitMs: Math.round(wait),
      })
    const again = (): void => {
      this.#retry = undefined
      if (relist) this.start()
      else this.#follow()
    }
    this.#retry = { timer: clock.setTimeout(again, wait), again }
  }

  /** Tells each of the handlers that a list begins or ends, also where one of them fails. */
  #bracket(what: "listing" | "listed", told: readonly InformerHandlers<T>[]): void {
    for (const handlers of told)
      try {
        handlers[what]?.()
      } catch (err) {
        contain("informer handler", err, this.#options.log, { resource: this.resource.plural, what })
      }
  }

  #tell(what: Change, object: T, old = object): void {
    for (const handlers of this.#handlers) this.#call(handlers, what, object, old)
  }

  /** Calls a handler. Its error is contained: other handlers, and the writer that caused the event, continue. */
  #call(handlers: InformerHandlers<T>, what: Change, object: T, old = object): void {
    try {
      if (what === "updated") handlers.updated?.(object, old)
      else handlers[what]?.(object)
    } catch (err) {
      contain("informer handler", err, this.#options.log, {
        resource: this.resource.plural,
        key: keyFrom(object.metadata),
      })
    }
  }
}
