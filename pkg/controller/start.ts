import { ApiError, isConflict, isNamespaceEnding, isNotFound } from "../apimachinery/errors.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import { keyFrom, type Informer, type Key } from "../client/informer.ts"
import type { ComponentContext } from "../component/component.ts"
import { contain, isMistake } from "../failure/contain.ts"
import { PendingCauses } from "../tracing/pending-causes.ts"
import { endingWith } from "../tracing/tracing.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { Controller, ReconcileContext } from "./controller.ts"
import { createEventRecorder } from "./event-recorder.ts"
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
  const { informers, clock, tracing } = context
  const causes = tracing === undefined ? undefined : new PendingCauses(tracing)
  const log = context.log.child({ controller: controller.name })
  const events = createEventRecorder({ ...context, log }, controller.eventSource ?? controller.name)
  const shared: ReconcileContext = { client: context.client, informers, clock, random: context.random, log, events }

  const watched = new Map<string, WatchedKind>()
  const watch = (resource: Resource, enqueue: Enqueue) => {
    const kind = watched.get(resource.prefix)
    if (kind === undefined) watched.set(resource.prefix, { informer: informers.of(resource), enqueues: [enqueue] })
    else kind.enqueues.push(enqueue)
  }
  watch(controller.reconciles, (object, _old, deleted) => {
    const key = keyFrom(object.metadata)
    // The informer of the reconciled kind returns objects of type T.
    if (controller.concerns?.(object as T, shared) !== false || (deleted && queue.expects(key))) {
      causes?.add(key, object)
      queue.add(key)
    }
  })
  for (const { resource, keys } of controller.watches ?? []) {
    watch(resource, (object, old, deleted) => {
      for (const key of keys(object, shared, old, deleted)) {
        causes?.add(key, object)
        queue.add(key)
      }
    })
  }

  const queue = new WorkQueue(
    clock,
    () => {
      observer?.queued(controller.name, queue.length)
      pump()
    },
    observer?.queue(controller.name),
  )
  const reconcileKey = guarded(controller, context)
  /** Keys whose last reconcile wrote something that an informer does not show yet. */
  const held = new Map<Key, readonly PendingWrite[]>()
  const running = new Set<Promise<void>>()
  let reconciles = 0
  let ready = false
  let stopped = false

  function pump(): void {
    while (ready && !stopped && running.size < (controller.workers ?? DEFAULT_WORKERS)) {
      const key = queue.take()
      if (key === undefined) return
      observer?.queued(controller.name, queue.length)
      const work: Promise<void> = inSpan(key).then(() => {
        running.delete(work)
        pump()
      })
      running.add(work)
    }
  }

  /** Reconciles one key, in a span of the trace that led to it. */
  function inSpan(key: Key): Promise<void> {
    if (tracing === undefined) return reconcile(key)
    const span = tracing.root(`${controller.name} reconcile`, {
      kind: "consumer",
      causes: causes!.take(key),
      attributes: { controller: controller.name, key },
    })
    return endingWith(tracing, span, () => reconcile(key))
  }

  /** Reconciles one key; never rejects. */
  async function reconcile(key: Key): Promise<void> {
    const started = clock.monotonic()
    const child = log.child({ key, reconcileID: ++reconciles })
    const client = new NotingClient(context.client)
    let outcome: "success" | "error" | "requeue" = "success"
    try {
      const result = await reconcileKey(key, { ...shared, client, log: child })
      // The controller may have ignored a refused write, such as that of a deleted object. The next reconcile shows
      // whether it was right to.
      if (client.refused) queue.retry(key)
      else queue.forget(key)
      if (result !== undefined) {
        outcome = "requeue"
        queue.addAfter(key, result.requeueAfter, result.kind)
      }
    } catch (err) {
      outcome = "error"
      tracing?.active()?.fail(err)
      if (stopped) return
      if (err instanceof TerminalError) child.error("Gave up on key", { err })
      else if (isGoing(err, key)) {
        child.debug("What is reconciled is going away", { err })
        queue.forget(key)
      } else {
        // Conflicts are common, and solve themselves: the informer will receive the newer object.
        if (isMistake(err)) contain("reconcile", err, child)
        else
          child[isConflict(err) ? "debug" : "warn"]("Reconcile failed; will retry", {
            err,
            reason: err instanceof ApiError ? err.reason : undefined,
          })
        queue.retry(key)
      }
    } finally {
      observer?.reconciled(controller.name, outcome, clock.monotonic() - started)
      hold(key, client.written)
    }
  }

  /**
   * Returns whether a write failed because its namespace, or the reconciled object itself, is being deleted: then
   * nothing is left to do.
   */
  function isGoing(err: unknown, key: Key): boolean {
    if (isNamespaceEnding(err)) return true
    const { plural } = controller.reconciles
    return isNotFound(err) && err.details?.kind === plural && err.details.name === key.slice(key.indexOf("/") + 1)
  }

  /** Returns the key to the queue once the informers show all writes. */
  function hold(key: Key, pending: readonly PendingWrite[]): void {
    const unseen = pending.filter(({ resource, seenBy }) => {
      const kind = watched.get(resource.prefix)
      return kind !== undefined && !seenBy(kind.informer)
    })
    if (unseen.length > 0 && !stopped) {
      held.set(key, unseen)
    } else {
      held.delete(key)
      queue.done(key)
    }
  }

  function recheckHeld(resource: Resource): void {
    for (const [key, pending] of held)
      if (pending.some((write) => write.resource.prefix === resource.prefix)) hold(key, pending)
  }

  const unsubscribe = [...watched.values()].map(({ informer, enqueues }) => {
    const tell = (object: KubeObject, old: KubeObject | undefined, deleted: boolean) => {
      try {
        for (const enqueue of enqueues) enqueue(object, old, deleted)
      } finally {
        if (held.size > 0) recheckHeld(informer.resource)
      }
    }
    return informer.on({
      added: (object) => tell(object, undefined, false),
      updated: (object, old) => tell(object, old, false),
      deleted: (object) => tell(object, undefined, true),
    })
  })

  const enqueue = (key: Key, afterMs = 0) => queue.addAfter(key, afterMs)
  const offFreed = context.quarantine?.onFreed(({ place, key }) => {
    if (place === controller.name) enqueue(key)
  })
  await Promise.all([...watched.values()].map(({ informer }) => informer.whenSynced()))
  const started: RunningController = {
    name: controller.name,
    enqueue,
    get idle() {
      return queue.length === 0 && running.size === 0 && held.size === 0
    },
    async stop() {
      stopped = true
      for (const off of unsubscribe) off()
      offFreed?.()
      queue.stop()
      await Promise.allSettled(running)
      await events.stop()
    },
  }
  try {
    controller.start?.(shared, enqueue)
  } catch (err) {
    await started.stop()
    throw err
  }
  ready = true
  pump()
  return started
}
