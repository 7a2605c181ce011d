/**
 * Watches the ConfigMaps and Secrets that pods of this node use. Each object has a watch of its own while at least one
 * pod uses it, because a kubelet may read only objects that its pods refer to. Immutable objects are not watched.
 * Source: pkg/kubelet/util/manager/watch_based_manager.go.
 */
import { ApiError, isReason } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Client, Watch, WatchEvent, WatchHandlers } from "../../../pkg/client/client.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import { TurnGate } from "../../../pkg/clock/turn-gate.ts"
import { contain } from "../../../pkg/failure/contain.ts"
import type { Logger } from "../../../pkg/log/log.ts"

export interface WatchedObjectsOptions {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
}

/** The use of one object by one pod. */
export interface ObjectUse<T> {
  /** What the user calls the object. */
  readonly about: string
  /** Returns the object as it is now; undefined when it does not exist. @throws ApiError when it cannot be read */
  read(): Promise<T | undefined>
  /** Ends the use. Idempotent. */
  release(): void
}

/** Whether an object exists now, and whether it did before. */
export interface ObjectChange {
  readonly exists: boolean
  readonly existed: boolean
}

/** Who uses an object. */
export interface ObjectUser {
  /**
   * Called whenever the object is created, changed or deleted, but not when it is first found. It must not block.
   * `about` is what the user calls the object.
   */
  objectChanged(about: string, change: ObjectChange): void
}

/** First and longest delay before another attempt. Source: client-go tools/cache reflector.go. */
const FIRST_BACKOFF_MS = 800
const LONGEST_BACKOFF_MS = 30_000
/** So many objects are asked for in one turn of the event loop: one pod can refer to 50,000. */
const LISTS_OF_TURN = 50

export class WatchedObjects {
  readonly #options: WatchedObjectsOptions
  readonly #followed = new Map<string, Followed<KubeObject>>()
  readonly #gate: TurnGate

  constructor(options: WatchedObjectsOptions) {
    this.#options = options
    this.#gate = new TurnGate(options.clock, LISTS_OF_TURN)
  }

  /** The number of watched objects. */
  get size(): number {
    return this.#followed.size
  }

  /** Begins the use of an object, which the user calls `about`. */
  use<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string,
    name: string,
    user: ObjectUser,
    about: string,
  ): ObjectUse<T> {
    const key = keyOf(resource, namespace, name)
    let followed = this.#followed.get(key) as Followed<T> | undefined
    if (followed === undefined) {
      followed = new Followed(resource, namespace, name, this.#options, this.#gate, this)
      this.#followed.set(key, followed as unknown as Followed<KubeObject>)
    }
    return new Use(followed, user, about)
  }

  /** Called when the last use of an object has ended. */
  unused(resource: Resource, namespace: string, name: string): void {
    this.#followed.delete(keyOf(resource, namespace, name))
  }

  stop(): void {
    for (const followed of this.#followed.values()) followed.stop()
    this.#followed.clear()
  }
}

const keyOf = ({ plural }: Resource, namespace: string, name: string): string => `${plural}/${namespace}/${name}`

/** A class instead of closures, since each pod has a few. A pod may use the same object twice. */
class Use<T extends KubeObject> implements ObjectUse<T> {
  readonly #followed: Followed<T>
  readonly #user: ObjectUser
  readonly about: string

  constructor(followed: Followed<T>, user: ObjectUser, about: string) {
    this.#followed = followed
    this.#user = user
    this.about = about
    followed.add(this)
  }

  tell(change: ObjectChange): void {
    this.#user.objectChanged(this.about, change)
  }

  read(): Promise<T | undefined> {
    return this.#followed.read()
  }

  release(): void {
    this.#followed.release(this)
  }
}

/** An object that is watched. Written so that it takes little memory: a pod can refer to 50,000, each of one use. */
class Followed<T extends KubeObject> implements WatchHandlers<T> {
  #use: Use<T> | undefined
  /** Further uses than the first. */
  #otherUses: Set<Use<T>> | undefined
  readonly #resource: Resource<T>
  readonly #namespace: string
  readonly #name: string
  readonly #options: WatchedObjectsOptions
  readonly #gate: TurnGate
  readonly #all: Pick<WatchedObjects, "unused">
  #object: T | undefined
  #revision: string | undefined
  /** Resolves when it is known whether the object exists; rejects when the last attempt to read it failed. */
  #known: Promise<void>
  #watch: Watch | undefined
  #retry: Timer | undefined
  #backoff = FIRST_BACKOFF_MS
  #stopped = false

  constructor(
    resource: Resource<T>,
    namespace: string,
    name: string,
    options: WatchedObjectsOptions,
    gate: TurnGate,
    all: Pick<WatchedObjects, "unused">,
  ) {
    this.#gate = gate
    this.#all = all
    this.#resource = resource
    this.#namespace = namespace
    this.#name = name
    this.#options = options
    this.#known = this.#list()
  }

  async read(): Promise<T | undefined> {
    await this.#known
    return this.#object
  }

  add(use: Use<T>): void {
    if (this.#use === undefined) this.#use = use
    else (this.#otherUses ??= new Set()).add(use)
  }

  release(use: Use<T>): void {
    if (this.#use === use) this.#use = undefined
    else if (this.#otherUses?.delete(use) !== true) return
    if (this.#use !== undefined || (this.#otherUses?.size ?? 0) > 0) return
    this.stop()
    this.#all.unused(this.#resource as unknown as Resource, this.#namespace, this.#name)
  }

  get #uses(): readonly Use<T>[] {
    return [...(this.#use === undefined ? [] : [this.#use]), ...(this.#otherUses ?? [])]
  }

  get #fieldSelector(): string {
    return `metadata.name=${this.#name}`
  }

  stop(): void {
    this.#stopped = true
    this.#watch?.close()
    this.#retry?.cancel()
  }

  #list(): Promise<void> {
    const first = this.#revision === undefined
    const listed = (async () => {
      const turn = this.#gate.pass()
      if (turn !== undefined) await turn
      if (this.#stopped) return
      const { items, metadata } = await this.#options.client.list(this.#resource, {
        namespace: this.#namespace,
        fieldSelector: this.#fieldSelector,
      })
      if (this.#stopped) return
      this.#revision = metadata.resourceVersion ?? "0"
      this.#set(
        items.find(({ metadata: { name } }) => name === this.#name),
        !first,
      )
      this.#follow()
    })()
    listed.catch((err: unknown) => this.#failed(ApiError.from(err), true))
    return listed
  }

  #follow(): void {
    if (this.#stopped || isImmutable(this.#object)) return
    this.#watch = this.#options.client.watch(
      this.#resource,
      {
        namespace: this.#namespace,
        fieldSelector: this.#fieldSelector,
        allowWatchBookmarks: true,
        ...(this.#revision === undefined ? {} : { resourceVersion: this.#revision }),
      },
      this,
    )
  }

  onEvent(event: WatchEvent<T>): void {
    if (this.#stopped || event.type === "ERROR") return
    this.#revision = event.object.metadata.resourceVersion
    this.#backoff = FIRST_BACKOFF_MS
    if (event.type === "BOOKMARK" || event.object.metadata.name !== this.#name) return
    this.#set(event.type === "DELETED" ? undefined : event.object, true)
    // An immutable object cannot change, and pods keep the data of a deleted one.
    if (isImmutable(this.#object)) this.#watch?.close()
  }

  #set(object: T | undefined, tell: boolean): void {
    const before = this.#object
    this.#object = object
    if (tell && before?.metadata.resourceVersion !== object?.metadata.resourceVersion)
      this.#notify(before !== undefined)
  }

  #notify(existed: boolean): void {
    for (const use of this.#uses)
      try {
        use.tell({ exists: this.#object !== undefined, existed })
      } catch (err) {
        contain("informer handler", err, this.#options.log, { resource: this.#resource.plural, name: this.#name })
      }
  }

  onEnd(error: ApiError | undefined): void {
    this.#watch = undefined
    if (this.#stopped || isImmutable(this.#object)) return
    if (isReason(error, "Expired", "Gone")) this.#relist()
    else this.#failed(error, false)
  }

  #failed(error: ApiError | undefined, relist: boolean): void {
    if (this.#stopped) return
    const wait = this.#backoff
    this.#backoff = Math.min(wait * 2, LONGEST_BACKOFF_MS)
    if (error !== undefined)
      this.#options.log.warn("Failed to watch an object that a pod uses; will retry", {
        resource: this.#resource.plural,
        namespace: this.#namespace,
        fieldSelector: this.#fieldSelector,
        error,
        waitMs: wait,
      })
    this.#retry = this.#options.clock.setTimeout(() => (relist ? this.#relist() : this.#follow()), wait)
  }

  #relist(): void {
    const wasKnown = this.#revision !== undefined
    const listed = this.#list()
    // The last known state stays readable during a relist.
    if (wasKnown) return
    this.#known = listed
    listed.then(
      () => this.#notify(false),
      () => undefined,
    )
  }
}

const isImmutable = (object: KubeObject | undefined): boolean =>
  object !== undefined && "immutable" in object && object.immutable === true
