import { ApiError, isConflict, isNamespaceEnding, isNotFound } from "../apimachinery/errors.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import { keyFrom, type Informer, type Key } from "../client/informer.ts"
import type { ComponentContext } from "../component/component.ts"
import { contain, isMistake } from "../failure/contain.ts"
import { exactKey } from "../cache/exact-key.ts"
import type { Logger } from "../log/log.ts"
import { PacedLog } from "../log/paced-log.ts"
import { PendingCauses } from "../tracing/pending-causes.ts"
import { endingWith } from "../tracing/tracing.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { Controller, ReconcileContext } from "./controller.ts"
import { createEventRecorder } from "./event-recorder.ts"
import type { EventRecorder } from "./events.ts"
import { guarded } from "./guarded.ts"
import { NotingClient, type PendingWrite } from "./own-writes.ts"
import { WorkQueue, type QueueObserver } from "./workqueue.ts"

/** An error that a retry cannot solve: `throw terminal(err)`. Its key is reconciled again only after the next event. */
export class TerminalError extends Error {
  override readonly name = "TerminalError"
}
export const terminal = (err: unknown): TerminalError => new TerminalError(errorMessage(err), { cause: err })

/** Receives what the loop reports; pkg/metrics turns it into workqueue_* and controller_runtime_* metrics. */
export interface ControllerObserver {
  reconciled(controller: string, outcome: "success" | "error" | "requeue", milliseconds: number): void
  queued(controller: string, depth: number): void
  /** Returns the observer of a controller's queue. */
  readonly queue: (controller: string) => QueueObserver
}

export interface RunningController {
  readonly name: string
  /** Adds a key, for instance after a timer of the controller. */
  enqueue(key: Key, afterMs?: number): void
  /** Whether no key is waiting or being reconciled. */
  readonly idle: boolean
  /** Takes no more keys. Resolves when the running reconciles have ended. */
  stop(): Promise<void>
}

/** Adds the keys that an event concerns. `old` is given for updates only. */
type Enqueue = (object: KubeObject, old: KubeObject | undefined, deleted: boolean) => void

/** A kind whose events concern the controller, with the functions that enqueue keys. */
interface WatchedKind {
  readonly informer: Informer<KubeObject>
  readonly enqueues: Enqueue[]
}

/** The number of keys that a controller reconciles at once by default, as most of upstream's controllers. */
const DEFAULT_WORKERS = 5

/**
 * Runs one controller: watches its kinds, fills its queue and reconciles the keys. Resolves once every informer has
 * synced and the first keys are queued. Source of the semantics: controller-runtime internal/controller, client-go
 * workqueue.
 */
export async function startController<T extends KubeObject>(
  controller: Controller<T>,
  context: ComponentContext,
  observer?: ControllerObserver,
): Promise<RunningController> {
  const loop = new ControllerLoop(controller, context, observer)
  await loop.start()
  return loop
}

/** The message, at the level debug, of a failure that a line of the same minute has told. */
export const FAILED_AGAIN = "Reconcile failed again; will retry"

class ControllerLoop<T extends KubeObject> implements RunningController {
  readonly #controller: Controller<T>
  readonly #context: ComponentContext
  readonly #observer: ControllerObserver | undefined
  readonly #log: Logger
  /** What is missing may be missing for hours, with a retry whenever something changes. */
  readonly #failures: PacedLog
  readonly #events: EventRecorder
  /** What each reconcile gets, beside a client and a log of its own. */
  readonly #shared: ReconcileContext
  /** The traces that led to a key; undefined where nothing is traced. */
  readonly #causes: PendingCauses | undefined
  /** By the prefix of the kind. */
  readonly #watched = new Map<string, WatchedKind>()
  readonly #queue: WorkQueue
  readonly #reconcileKey: Controller<T>["reconcile"]
  /** Keys whose last reconcile wrote something that an informer does not show yet. */
  readonly #held = new Map<Key, readonly PendingWrite[]>()
  readonly #running = new Set<Promise<void>>()
  /** What `stop` calls to end the subscriptions. */
  readonly #ends: (() => void)[] = []
  #reconciles = 0
  /** The number of informers that are telling what a new list has changed. */
  #lists = 0
  #ready = false
  #stopped = false

  constructor(controller: Controller<T>, context: ComponentContext, observer: ControllerObserver | undefined) {
    const { client, informers, clock, random, tracing } = context
    this.#controller = controller
    this.#context = context
    this.#observer = observer
    this.#causes = tracing === undefined ? undefined : new PendingCauses(tracing)
    const log = (this.#log = context.log.child({ controller: controller.name }))
    this.#failures = new PacedLog(clock, log)
    const events = (this.#events = createEventRecorder({ ...context, log }, controller.eventSource ?? controller.name))
    this.#shared = { client, informers, clock, random, log, events }
    this.#watchKinds()
    this.#queue = new WorkQueue(clock, () => this.#keyAdded(), observer?.queue(controller.name))
    this.#reconcileKey = guarded(controller, context)
  }

  get name(): string {
    return this.#controller.name
  }

  get idle(): boolean {
    return this.#queue.length === 0 && this.#running.size === 0 && this.#held.size === 0
  }

  enqueue(key: Key, afterMs = 0): void {
    this.#queue.addAfter(key, afterMs)
  }

  async start(): Promise<void> {
    for (const kind of this.#watched.values()) this.#ends.push(this.#subscribe(kind))
    const offFreed = this.#context.quarantine?.onFreed(({ place, key }) => {
      if (place === this.name) this.enqueue(key)
    })
    if (offFreed !== undefined) this.#ends.push(offFreed)
    await Promise.all([...this.#watched.values()].map(({ informer }) => informer.whenSynced()))
    try {
      this.#controller.start?.(this.#shared, (key, afterMs) => this.enqueue(key, afterMs))
    } catch (err) {
      await this.stop()
      throw err
    }
    this.#ready = true
    this.#pump()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const end of this.#ends) end()
    this.#queue.stop()
    await Promise.allSettled(this.#running)
    await this.#events.stop()
  }

  /** Notes which kinds concern the controller, and which keys their events add. */
  #watchKinds(): void {
    const controller = this.#controller
    this.#watch(controller.reconciles, (object, _old, deleted) => {
      const key = keyFrom(object.metadata)
      // The informer of the reconciled kind returns objects of type T.
      if (controller.concerns?.(object as T, this.#shared) !== false || (deleted && this.#queue.expects(key)))
        this.#add(key, object)
    })
    for (const { resource, keys } of controller.watches ?? [])
      this.#watch(resource, (object, old, deleted) => {
        for (const key of keys(object, this.#shared, old, deleted)) this.#add(key, object)
      })
  }

  #watch(resource: Resource, enqueue: Enqueue): void {
    const kind = this.#watched.get(resource.prefix)
    if (kind !== undefined) kind.enqueues.push(enqueue)
    else this.#watched.set(resource.prefix, { informer: this.#context.informers.of(resource), enqueues: [enqueue] })
  }

  /** Adds a key because of an event of an object. */
  #add(key: Key, object: KubeObject): void {
    this.#causes?.add(key, object)
    this.#queue.add(key)
  }

  /** Returns the function that ends the subscription. */
  #subscribe({ informer, enqueues }: WatchedKind): () => void {
    const tell = (object: KubeObject, old: KubeObject | undefined, deleted: boolean) => {
      try {
        for (const enqueue of enqueues) enqueue(object, old, deleted)
      } finally {
        if (this.#held.size > 0) this.#recheckHeld(informer.resource)
      }
    }
    return informer.on({
      added: (object) => tell(object, undefined, false),
      updated: (object, old) => tell(object, old, false),
      deleted: (object) => tell(object, undefined, true),
      listing: () => void this.#lists++,
      listed: () => {
        this.#lists--
        this.#pump()
      },
    })
  }

  get #isTaking(): boolean {
    return this.#ready && !this.#stopped && this.#lists === 0
  }

  #keyAdded(): void {
    this.#observer?.queued(this.name, this.#queue.length)
    this.#pump()
  }

  /**
   * Takes keys while fewer are reconciled than there may be at once. None is taken while an informer tells of a list: a
   * controller that counts by events would know less than the informer shows.
   */
  #pump(): void {
    while (this.#isTaking && this.#running.size < (this.#controller.workers ?? DEFAULT_WORKERS)) {
      const key = this.#queue.take()
      if (key === undefined) return
      this.#observer?.queued(this.name, this.#queue.length)
      const work: Promise<void> = this.#inSpan(key).then(() => {
        this.#running.delete(work)
        this.#pump()
      })
      this.#running.add(work)
    }
  }

  /** Reconciles one key, in a span of the trace that led to it. */
  #inSpan(key: Key): Promise<void> {
    const { tracing } = this.#context
    if (tracing === undefined) return this.#reconcile(key)
    const span = tracing.root(`${this.name} reconcile`, {
      kind: "consumer",
      causes: this.#causes!.take(key),
      attributes: { controller: this.name, key },
    })
    return endingWith(tracing, span, () => this.#reconcile(key))
  }

  /** Reconciles one key; never rejects. */
  async #reconcile(key: Key): Promise<void> {
    const { clock } = this.#context
    const started = clock.monotonic()
    const log = this.#log.child({ key, reconcileID: ++this.#reconciles })
    const client = new NotingClient(this.#context.client)
    let outcome: "success" | "error" | "requeue" = "success"
    try {
      const result = await this.#reconcileKey(key, { ...this.#shared, client, log })
      // The controller may have ignored a refused write, such as that of a deleted object. The next reconcile shows
      // whether it was right to.
      if (client.refused) this.#queue.retry(key)
      else this.#queue.forget(key)
      if (result !== undefined) {
        outcome = "requeue"
        this.#queue.addAfter(key, result.requeueAfter, result.kind)
      }
    } catch (err) {
      outcome = "error"
      this.#context.tracing?.active()?.fail(err)
      if (this.#stopped) return
      this.#failed(key, err, log)
    } finally {
      this.#observer?.reconciled(this.name, outcome, clock.monotonic() - started)
      this.#hold(key, client.written)
    }
  }

  /** Says in the log what a reconcile has thrown, and has the key tried again if that may help. */
  #failed(key: Key, err: unknown, log: Logger): void {
    if (err instanceof TerminalError) {
      log.error("Gave up on key", { err })
      return
    }
    if (this.#isGoing(err, key)) {
      log.debug("What is reconciled is going away", { err })
      this.#queue.forget(key)
      return
    }
    // Conflicts are common, and solve themselves: the informer will receive the newer object.
    const message = "Reconcile failed; will retry"
    const fields = { err, reason: err instanceof ApiError ? err.reason : undefined }
    if (isMistake(err)) contain("reconcile", err, log)
    else if (isConflict(err)) log.debug(message, fields)
    else if (!this.#failures.warn(exactKey([key, errorMessage(err)]), message, { key, ...fields }))
      log.debug(FAILED_AGAIN, { key, ...fields })
    this.#queue.retry(key)
  }

  /**
   * Returns whether a write failed because its namespace, or the reconciled object itself, is being deleted: then
   * nothing is left to do.
   */
  #isGoing(err: unknown, key: Key): boolean {
    if (isNamespaceEnding(err)) return true
    const { plural } = this.#controller.reconciles
    return isNotFound(err) && err.details?.kind === plural && err.details.name === key.slice(key.indexOf("/") + 1)
  }

  /** Returns the key to the queue once the informers show all writes. */
  #hold(key: Key, pending: readonly PendingWrite[]): void {
    const unseen = pending.filter(({ resource, seenBy }) => {
      const kind = this.#watched.get(resource.prefix)
      return kind !== undefined && !seenBy(kind.informer)
    })
    if (unseen.length > 0 && !this.#stopped) {
      this.#held.set(key, unseen)
    } else {
      this.#held.delete(key)
      this.#queue.done(key)
    }
  }

  #recheckHeld(resource: Resource): void {
    for (const [key, pending] of this.#held)
      if (pending.some((write) => write.resource.prefix === resource.prefix)) this.#hold(key, pending)
  }
}
