import type { Client } from "../client/client.ts"
import type { Informers } from "../client/informer.ts"
import type { Clock } from "../clock/clock.ts"
import type { Random } from "../clock/random.ts"
import type { Logger } from "../log/log.ts"
import type { Quarantine } from "../quarantine/quarantine.ts"
import type { Tracing } from "../tracing/tracing.ts"

/** What every component gets: everything that it may use besides its own configuration. components/cluster makes it. */
export interface ComponentContext {
  /** Acts as the component's own user, e.g. system:kube-scheduler. */
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** @internal Records spans of what the component does; absent when tracing is off. */
  readonly tracing?: Tracing | undefined
  /** @internal Notes what the component works on, and says what it must skip; absent in test clusters. */
  readonly quarantine?: Quarantine | undefined
  /**
   * Runs background work. Its failure is contained: counted, and logged with its stack. With `again`, work that has
   * failed begins again after a back-off, until `again` aborts: for what a component cannot be without. Every promise
   * must be awaited or passed to this method.
   */
  spawn(name: string, run: () => Promise<void>, again?: AbortSignal): void
}

/**
 * A part of the program that is started and stopped. Components start in the order of one list, each when the one
 * before is ready, and stop in reverse order. Some can be started again after `stop`.
 */
export interface Component {
  readonly name: string
  /** Resolves when the component is ready to work; throws when it cannot start. `signal` aborts a start in progress. */
  start(signal: AbortSignal): Promise<void>
  /** Stops the component, and resolves when it has ended. May be called twice, and before `start` has ended. */
  stop(): Promise<void>
  /** Returns why the component is not healthy; undefined when it is. Shown by /readyz?verbose. */
  problem?(): string | undefined
}
