import { availableParallelism } from "node:os"
import { checkOptionNames } from "../options/option-names.ts"
import { callerOf, from, TestClusterError } from "../caller.ts"
import { milliseconds, type Duration } from "../time/duration.ts"
import { ClusterWorker } from "./worker.ts"

export interface RunClustersOptions {
  /**
   * The module that each worker imports, `new URL("./drill.ts", import.meta.url)`. Its default export is a function
   * that gets a started cluster and its seed; `options` are those of its clusters.
   */
  readonly module: URL | string
  /** The seeds, or how many: 100 are the seeds 1 to 100. */
  readonly seeds: number | readonly number[]
  /** How many clusters run at once, each in a thread of its own; by default as many as there are cores. */
  readonly clusters?: number
  /** Whether no further seed is run after one has failed; false by default. */
  readonly stopAtFirstFailure?: boolean
  /** How much real time a seed may take; `5m` by default. */
  readonly timeout?: Duration
}

/** What came of one seed. */
export type ClusterRun<T = unknown> =
  | { readonly seed: number; readonly outcome: "passed"; readonly result: T }
  | {
      readonly seed: number
      readonly outcome: "failed"
      /** With the message and the stack of the worker. */
      readonly error: Error
      /** What `report()` of the cluster told; undefined when there was none. */
      readonly report: string | undefined
    }
  /** Not run, or ended, because another seed had failed. */
  | { readonly seed: number; readonly outcome: "skipped" }

const OPTIONS: { readonly [name in keyof Required<RunClustersOptions>]: true } = {
  module: true,
  seeds: true,
  clusters: true,
  stopAtFirstFailure: true,
  timeout: true,
}

/**
 * Runs a drill once for each seed, in a cluster of its own, on several cores. Returns what came of each seed, in the
 * order of the seeds; `resultsOf` makes one error of all that failed.
 *
 *     const runs = await runClusters({ module: new URL("./drill.ts", import.meta.url), seeds: 100 })
 *
 * @throws TestClusterError for an option that makes no sense
 */
export async function runClusters<T = unknown>(options: RunClustersOptions): Promise<readonly ClusterRun<T>[]> {
  return from(callerOf(), async () => {
    const { seeds, clusters, timeoutMs, module } = checked(options)
    const runs: ClusterRun<T>[] = seeds.map((seed) => ({ seed, outcome: "skipped" }))
    const workers = Array.from(
      { length: Math.min(clusters, seeds.length) },
      () => new ClusterWorker({ module }, timeoutMs),
    )
    let next = 0
    let isOver = false
    const work = async (worker: ClusterWorker) => {
      while (next < seeds.length && !isOver) {
        const at = next++
        const seed = seeds[at]!
        const outcome = await worker.run(seed)
        if (isOver) return
        // Only the module knows what it returns.
        if ("result" in outcome) runs[at] = { seed, outcome: "passed", result: outcome.result as T }
        else {
          runs[at] = { seed, outcome: "failed", ...outcome }
          if (options.stopAtFirstFailure !== true) continue
          isOver = true
          for (const other of workers) other.close()
        }
      }
    }
    try {
      await Promise.all(workers.map(work))
    } finally {
      for (const worker of workers) worker.close()
    }
    return runs
  })
}

/**
 * Returns the results of runs that all passed. @throws TestClusterError with the message of each seed that failed, and
 * the report of the first one
 */
export function resultsOf<T>(runs: readonly ClusterRun<T>[]): readonly T[] {
  const failed = runs.flatMap((run) => (run.outcome === "failed" ? [run] : []))
  const [first] = failed
  if (first !== undefined) {
    const lines = failed.slice(0, MOST_TOLD).map(({ seed, error }) => `  seed ${seed}: ${error.message}`)
    const more = failed.length > MOST_TOLD ? [`  and ${failed.length - MOST_TOLD} more`] : []
    const report = first.report === undefined ? [] : ["", first.report]
    const message = [`${failed.length} of ${runs.length} seeds failed`, ...lines, ...more, ...report].join("\n")
    throw new TestClusterError(message, { cause: first.error })
  }
  return runs.flatMap((run) => (run.outcome === "passed" ? [run.result] : []))
}

/** Failed seeds whose messages an error shows. */
const MOST_TOLD = 10

/** Returns the options with defaults. @throws TestClusterError with the option, its value and what to change */
function checked(options: RunClustersOptions) {
  checkOptionNames("runClusters has no option", options, OPTIONS)
  const { module, seeds, clusters = availableParallelism(), timeout = "5m" } = options
  if (!Number.isInteger(clusters) || clusters < 1)
    throw new TestClusterError(`Cannot run clusters: ${clusters}: expected a whole number of 1 or more`)
  const list = typeof seeds === "number" ? (Number.isInteger(seeds) && seeds > 0 ? firstSeeds(seeds) : []) : seeds
  if (list.length === 0 || list.some((seed) => !Number.isSafeInteger(seed) || seed < 0))
    throw new TestClusterError(
      `Cannot run seeds: ${JSON.stringify(seeds)}: expected how many, such as 100, or a list of whole numbers`,
    )
  const url = String(module)
  if (!URL.canParse(url))
    throw new TestClusterError(
      `Cannot run module: ${JSON.stringify(url)}: expected a URL, such as new URL("./drill.ts", import.meta.url)`,
    )
  return { module: url, seeds: list, clusters, timeoutMs: milliseconds(timeout) }
}

const firstSeeds = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i + 1)
