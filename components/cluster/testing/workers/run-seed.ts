import { startCluster, type Cluster } from "../cluster.ts"
import { TestClusterError } from "../caller.ts"
import type { ClusterOptions } from "../options/options.ts"
import { sentError, type Answer } from "./messages.ts"

/** What a module of `runClusters` exports as its default: uses a cluster, whose seed it is told. */
export type Drill<T = unknown> = (cluster: Cluster, seed: number) => T | Promise<T>

/** What is read of the test's module. */
export interface DrillModule {
  readonly default: Drill
  readonly options: ClusterOptions
}

/** Loads the test's module. @throws TestClusterError when it does not export what is needed */
export async function loadDrill(url: string): Promise<DrillModule> {
  const { default: drill, options = {} } = (await import(url)) as Readonly<Record<string, unknown>>
  if (typeof drill !== "function")
    throw new TestClusterError(
      `Cannot run ${url}: its default export is ${typeof drill}; expected a function that gets a cluster`,
    )
  if (typeof options !== "object" || options === null)
    throw new TestClusterError(`Cannot run ${url}: its export "options" must be the options of startCluster`)
  return { default: drill as Drill, options }
}

/** Runs the drill with a cluster of its own. Never rejects. */
export async function runSeed({ default: drill, options }: DrillModule, seed: number): Promise<Answer> {
  let cluster: Cluster | undefined
  try {
    cluster = await startCluster({ ...options, seed })
    const result = await drill(cluster, seed)
    await cluster.stop()
    return { seed, result }
  } catch (err) {
    const report = cluster === undefined ? undefined : reportOf(cluster)
    // What is found at the end of a cluster that has failed follows from that.
    await cluster?.stop().catch(() => undefined)
    return { seed, error: sentError(err), report }
  }
}

/** Returns the report; undefined when the cluster cannot tell any more. */
function reportOf(cluster: Cluster): string | undefined {
  try {
    return String(cluster.report())
  } catch {
    return undefined
  }
}
