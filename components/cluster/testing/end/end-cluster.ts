import { TestClusterError } from "../caller.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { orphans } from "./end-checks.ts"
import { replay } from "../options/seed.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"

export interface EndOptions {
  /** Whether controllers ran, so that an object without its owner is an error. */
  readonly hasControllers: boolean
  /** Stops what the test started on top of the cluster; called in reverse order. */
  readonly stops: readonly (() => unknown)[]
}

/**
 * Ends all parts of a cluster, and checks that they left nothing behind.
 * @throws TestClusterError when background work failed, a watch or timer was left, revisions did not rise, or an object
 * outlived its owner
 */
export async function endCluster(parts: ClusterParts, { hasControllers, stops }: EndOptions): Promise<void> {
  const {
    seed,
    virtual,
    driver,
    storage,
    assembly,
    rules,
    nodes,
    network,
    ending,
    thrown,
    endRevisions,
    isEndless,
    servers,
  } = parts
  const problems: string[] = []
  if (!isEndless()) await driver.move((clock) => clock.settle())
  if (hasControllers && virtual !== undefined && !driver.isTroubled)
    pushAll(problems, orphans(storage, assembly.apiServer.scheme.resources))
  await network.stop()
  ending.abort(new Error("the cluster is being stopped"))
  rules.clear()
  for (const stop of stops.toReversed()) await stop()
  await nodes.stop()
  await assembly.components.scheduler.crash()
  await assembly.components["controller-manager"].crash()
  nodes.close()
  pushAll(
    problems,
    assembly.openWatches.map((watch) => `a watch was left open: ${watch}`),
  )
  await assembly.components.apiserver.crash()
  servers?.close()
  await virtual?.quiet()
  const { pending = 0 } = virtual ?? {}
  if (pending > 0) problems.push(`${pending} timer${pending === 1 ? " was" : "s were"} left`)
  pushAll(
    problems,
    endRevisions(),
    thrown.map(({ message }) => message),
    assembly.failures.map((err) => `background work failed: ${errorMessage(err)}`),
  )
  storage.close()
  // An endless instant was already reported to the test, and faults after it are its consequences.
  if (problems.length > 0 && !isEndless())
    throw new TestClusterError(`The cluster ended with faults (${replay(seed)}):\n  ${problems.join("\n  ")}`, {
      cause: assembly.failures[0],
      reason: "UncleanEnd",
    })
}
