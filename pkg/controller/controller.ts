import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import type { Client } from "../client/client.ts"
import type { Informers, Key } from "../client/informer.ts"
import type { Clock, TimerKind } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import type { Logger } from "../log/log.ts"
import type { EventRecorder } from "./events.ts"

/** What a controller's `reconcile` may use. */
export interface ReconcileContext {
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Writes Events that `kubectl describe` shows. */
  readonly events: EventRecorder
}

/** Maps events of another kind to the keys that they concern. */
export interface Watched {
  readonly resource: Resource
  /** `old` is given for updates only; for a deletion `deleted` is true. */
  keys(object: KubeObject, context: ReconcileContext, old: KubeObject | undefined, deleted: boolean): readonly Key[]
}

/** Returns a Watched whose `keys` gets objects of the kind's type. A Watched by itself does not name the type. */
export const watching = <T extends KubeObject>(
  resource: Resource<T>,
  keys: (object: T, context: ReconcileContext, old: T | undefined, deleted: boolean) => readonly Key[],
): Watched => {
  const watched: TypedWatch<T> = { resource, keys }
  return watched
}

interface TypedWatch<T extends KubeObject> {
  readonly resource: Resource<T>
  keys(object: T, context: ReconcileContext, old: T | undefined, deleted: boolean): readonly Key[]
}

/**
 * A control loop as a value. `reconcile` gets a key and never an event, so it reads all it needs from the informers and
 * may run again at any time. The loop (see `startController`) owns queue, workers, backoff, metrics and reading its
 * own writes: `reconcile` never runs twice at once for one key, and runs again only when the informers have seen what
 * its last run wrote, so no "expectations" are needed.
 */
export interface Controller<T extends KubeObject = KubeObject> {
  readonly name: string
  /** The source of the controller's Events, where upstream's differs from the controller's name. */
  readonly eventSource?: string
  readonly reconciles: Resource<T>
  readonly watches?: readonly Watched[]
  /**
   * Returns whether an event of the reconciled kind concerns the controller. All do by default. The deletion of an
   * object whose key is being reconciled or waits always does. For kinds with very many objects, such as pods.
   */
  concerns?(object: T, context: ReconcileContext): boolean
  /** The number of keys that are reconciled at once; 5 by default. */
  readonly workers?: number
  /**
   * Returns nothing, or when to reconcile again (with kind `upkeep` if that only checks that nothing has happened; see
   * Clock). A thrown error is retried with backoff, except one made by `terminal`.
   */
  reconcile(
    key: Key,
    context: ReconcileContext,
  ): Promise<void | { readonly requeueAfter: number; readonly kind?: TimerKind }>
  /** Called once before the first key, e.g. to set up state or timers. */
  start?(context: ReconcileContext, enqueue: (key: Key, afterMs?: number) => void): void
}

export const defineController = <T extends KubeObject>(controller: Controller<T>): Controller<T> => controller
