import type { Client } from "../client/client.ts"
import type { Informers } from "../client/informer.ts"
import type { Clock } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import type { Logger } from "../log/log.ts"

/**
 * What every component is given, and all that it may use of the world beside its own configuration. Built in
 * components/cluster.
 */
export interface ComponentContext {
  /** Acts as the component's own user, e.g. system:kube-scheduler. */
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Runs background work: a failure is logged and fails the component. No promise may float. */
  spawn(name: string, run: () => Promise<void>): void
}

/**
 * A part of the program with a life of its own. Components start in the order of one list, each when the one before is
 * ready, and stop in reverse. Several may be started again after `stop`.
 */
export interface Component {
  readonly name: string
  /** Resolves when the component does its work; throws when it cannot. `signal` aborts a start that is under way. */
  start(signal: AbortSignal): Promise<void>
  /** Stops and resolves when nothing of it runs any more. Safe to call twice, and before `start` has ended. */
  stop(): Promise<void>
  /** Why it is not healthy, or nothing. Shown by /readyz?verbose. */
  problem?(): string | undefined
}
