import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import type { Client } from "../client/client.ts"
import type { Informers, Key } from "../client/informer.ts"
import type { Clock, TimerKind } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import type { Logger } from "../log/log.ts"
import type { EventRecorder } from "./events.ts"

/** What a reconcile may use. */
export interface ReconcileContext {
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Writes Events that `kubectl describe` shows. */
  readonly events: EventRecorder
}

/** Maps events on another kind to the keys that they concern. */
export interface Watched {
  readonly resource: Resource
  /** `old` is given for updates only; for a deletion `deleted` is true. */
  keys(object: KubeObject, context: ReconcileContext, old: KubeObject | undefined, deleted: boolean): readonly Key[]
}

/** Watches a kind in its type; a Watched has the type left out. */
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
  /** The source of its Events, where upstream's controller of this name has another one. */
  readonly eventSource?: string
  readonly reconciles: Resource<T>
  readonly watches?: readonly Watched[]
  /**
   * Whether an event on the reconciled kind matters. By default all do. The deletion of an object whose key is being
   * reconciled or waits always matters. For kinds with very many objects, such as pods.
   */
  concerns?(object: T, context: ReconcileContext): boolean
  /** Keys that are reconciled at once; 5 unless given. */
  readonly workers?: number
  /**
   * Returns nothing, or when to reconcile again (with kind `upkeep` if that only checks that nothing has happened; see
   * Clock). A thrown error is retried with backoff; `terminal(err)` is not.
   */
  reconcile(
    key: Key,
    context: ReconcileContext,
  ): Promise<void | { readonly requeueAfter: number; readonly kind?: TimerKind }>
  /** Called once before the first key, e.g. to set up state or timers. */
  start?(context: ReconcileContext, enqueue: (key: Key, afterMs?: number) => void): void
}

export const defineController = <T extends KubeObject>(controller: Controller<T>): Controller<T> => controller
