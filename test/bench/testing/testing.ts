import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import {
  ALIVE,
  CLAIMS,
  CRON_JOBS,
  IN_A_ROW,
  LARGE,
  LARGEST,
  MONTHS,
  QUIET,
  SCHEDULING_NODES,
  STARTED_NODES,
  TESTS,
  type LargeRun,
  type RUNS,
} from "./cluster-runs.ts"
import type { Benchmark, Figure } from "../figure.ts"
import { testFiles } from "./test-files.ts"

/**
 * Clusters in memory (`k3ts/testing`). Each figure comes from a process of its own, so that none pays for what another
 * left behind.
 */
export const testing: Benchmark = {
  name: "testing",
  async *run(): AsyncIterable<Figure> {
    yield {
      name: "test cluster: start to first answer",
      unit: "ms",
      value: measured("start"),
      goal: 10,
      better: "less",
    }
    yield {
      name: "test cluster: the same with 3 nodes",
      unit: "ms",
      value: measured("startWithNodes"),
      goal: 15,
      better: "less",
    }
    yield {
      name: `test cluster: memory of one, ${ALIVE} alive`,
      unit: "MB",
      value: measured("memoryOfOne"),
      goal: 3,
      better: "less",
    }
    const { seconds, growth, peak } = measured("inARow")
    yield {
      name: `test cluster: growth over ${IN_A_ROW} in a row`,
      unit: "MB",
      value: growth,
      goal: 20,
      better: "less",
    }
    yield { name: `test cluster: ${IN_A_ROW} in a row, processor time`, unit: "s", value: seconds, better: "less" }
    yield { name: "test cluster: the same, peak memory", unit: "MB", value: peak, better: "less" }
    for (const { tests, seconds: spent, empty } of testFiles([1, TESTS]))
      yield {
        name: `test cluster: ${tests === 1 ? "the first test of a process" : `a file of ${tests} tests`}, processor time`,
        unit: "s",
        value: spent,
        limit: { what: "bun test with as many empty tests", value: empty },
        better: "less",
      }
    yield {
      name: "test cluster: 100 replicas on 10 nodes Ready",
      unit: "ms",
      value: measured("hundredReplicas"),
      goal: 100,
      better: "less",
    }
    yield {
      name: `test cluster: ${CLAIMS} claims provisioned and bound`,
      unit: "s",
      value: measured("claims") / 1000,
      goal: 5,
      better: "less",
    }
    const months = measured("monthsOfCronJobs")
    yield {
      name: `test cluster: 30 days of ${CRON_JOBS} CronJobs, median of ${MONTHS}`,
      unit: "s",
      value: months.median / 1000,
      goal: 1,
      better: "less",
    }
    yield {
      name: "test cluster: the first of these, in a process just begun",
      unit: "s",
      value: months.first / 1000,
      goal: 1,
      better: "less",
    }
    yield {
      name: `test cluster: a quiet month of ${QUIET.nodes} nodes and ${QUIET.pods} pods with probes`,
      unit: "s",
      value: measured("quietMonth"),
      goal: 5,
      better: "less",
    }
    yield {
      name: `scheduler: pods placed on ${SCHEDULING_NODES} nodes`,
      unit: "/s",
      value: measured("scheduling"),
      goal: 680,
      better: "more",
    }
    yield {
      name: `test cluster: start with ${STARTED_NODES} nodes, in a process just begun`,
      unit: "s",
      value: measured("startedNodes"),
      goal: 1,
      better: "less",
    }
    yield* sizes(LARGE, measured("large"), { seconds: 20, peak: 900 })
  },
}

/** Takes minutes, and gigabytes of memory. */
export const largest: Benchmark = {
  name: "largest",
  async *run(): AsyncIterable<Figure> {
    yield* sizes(LARGEST, measured("largest"), { peak: 4096 })
  },
}

function sizes(
  { nodes, pods }: typeof LARGE,
  { seconds, scheduled, peak }: LargeRun,
  goals: { readonly seconds?: number; readonly peak: number },
): readonly Figure[] {
  const name = `test cluster: ${nodes} nodes, ${pods} pods`
  return [
    { name: `${name} Running`, unit: "s", value: seconds, goal: goals.seconds, better: "less" },
    { name: `${name}, created to Running`, unit: "/s", value: scheduled, better: "more" },
    { name: `${name}, peak memory`, unit: "MB", value: peak, goal: goals.peak, better: "less" },
  ]
}

type Runs = typeof RUNS

function measured<N extends keyof Runs>(name: N): Awaited<ReturnType<Runs[N]>> {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL("cluster-runs.ts", import.meta.url)), name],
    { encoding: "utf8" },
  )
  if (status !== 0) throw new Error(`the run ${name} failed: ${stderr}`)
  return JSON.parse(stdout) as Awaited<ReturnType<Runs[N]>>
}
