import type { KubeObject } from "../apimachinery/resource.ts"
import type { ComponentContext } from "../component/component.ts"
import type { Controller } from "../controller/controller.ts"
import { runLeaderElected, type LeaderElectionOptions } from "../controller/leader-election.ts"
import { startController, type RunningController } from "../controller/start.ts"

export interface OperatorOptions {
  /**
   * Stops the operator when it aborts. Without it the operator runs until its Lease is lost or background work fails.
   */
  readonly signal?: AbortSignal
  /** If given, only one of several processes works at a time: the holder of the Lease. By default all work. */
  readonly leaderElection?: LeaderElectionOptions
}

/** The connection of an operator: `connect()`, or `contextFor()` of a test cluster. */
export type OperatorContext = ComponentContext & {
  /** Rejects with the first failure of background work. */
  readonly failed?: Promise<never>
}

/**
 * Runs controllers until `signal` aborts. Resolves when the last `reconcile` has ended.
 * @throws Error when the Lease was lost (the process must be started again, as with client-go) or background work
 * failed
 */
export async function runOperator<T extends KubeObject>(
  context: OperatorContext,
  controllers: readonly Controller<T>[],
  { signal = new AbortController().signal, leaderElection }: OperatorOptions = {},
): Promise<void> {
  const failure = new AbortController()
  context.failed?.catch((err: unknown) => failure.abort(err))
  const until = AbortSignal.any([signal, failure.signal])
  const work = (ending: AbortSignal) => runControllers(context, controllers, ending)
  if (leaderElection === undefined) await work(until)
  else {
    const end = await runLeaderElected(leaderElection, context, until, work)
    if (end === "lost")
      throw new Error(
        `Lost the lease ${leaderElection.namespace}/${leaderElection.name}: another process leads, or it ` +
          "could not be renewed in time",
      )
  }
  failure.signal.throwIfAborted()
}

async function runControllers<T extends KubeObject>(
  context: ComponentContext,
  controllers: readonly Controller<T>[],
  ending: AbortSignal,
): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    if (ending.aborted) resolve()
    else ending.addEventListener("abort", () => resolve(), { once: true })
  })
  const running: RunningController[] = []
  const starting = controllers.map(async (controller) => {
    const started = await startController(controller, context)
    // Its informers may sync late or never, so that the controller starts after the end.
    if (ending.aborted) await started.stop()
    else running.push(started)
  })
  try {
    await Promise.race([aborted, Promise.all(starting)])
    await aborted
  } finally {
    await Promise.all(running.map((controller) => controller.stop()))
  }
}
