import { describe, expect, test } from "bun:test"
import { resultsOf, runClusters, type RunClustersOptions } from "../testing.ts"
import drill, { options, SEED } from "./drills.fixtures.ts"
import { runSeed } from "./run-seed.ts"

const module = new URL("./drills.fixtures.ts", import.meta.url)
const run = (given: Omit<RunClustersOptions, "module">) => runClusters({ clusters: 2, ...given, module })

describe("a drill on several cores", () => {
  test("gives the results of all seeds in their order, each the same as in the test's own thread", async () => {
    // given
    const seeds = [7, 3, 5, 3]
    const own = []
    for (const seed of seeds) own.push(await runSeed({ default: drill, options }, seed))
    // when
    const runs = await run({ seeds })
    // then
    expect(runs.map(({ seed, outcome }) => [seed, outcome])).toEqual(seeds.map((seed) => [seed, "passed"]))
    expect(resultsOf(runs)).toEqual(own.map((answer) => "result" in answer && answer.result))
  })

  test("tells of a seed that fails its error, its stack and the report of its cluster, and runs the others", async () => {
    // when
    const runs = await run({ seeds: [1, SEED.throws, 2] })
    // then
    expect(runs.map(({ outcome }) => outcome)).toEqual(["passed", "failed", "passed"])
    const failed = runs[1]!
    if (failed.outcome !== "failed") throw new Error("it must fail")
    expect([failed.error.name, failed.error.message]).toEqual(["RangeError", "the database has gone"])
    expect(failed.error.stack).toContain("drills.fixtures.ts")
    expect(failed.report).toContain("seed 901")
    expect(failed.report).toContain("create Pod default/a")
    // and all in one
    expect(() => resultsOf(runs)).toThrow(
      /^1 of 3 seeds failed\n {2}seed 901: the database has gone\n\nThe cluster until .* \(seed 901/,
    )
  })

  test("goes on after a seed that waits in vain, returns what threads cannot exchange, or ends its thread", async () => {
    // when
    const runs = await run({ clusters: 1, seeds: [SEED.waits, SEED.returnsFunction, SEED.exits, 1] })
    // then
    const says = runs.map((one) => (one.outcome === "failed" ? `${one.error.name}: ${one.error.message}` : one.outcome))
    expect(says[0]).toMatch(/^TestClusterError: Not within 1m0s of virtual time \(seed 902/)
    expect(says[1]).toMatch(/^TestClusterError: Cannot return the result of seed 905 .* since it is no plain data: /)
    expect(says.slice(2)).toEqual(["TestClusterError: The worker of seed 903 has ended with exit code 3", "passed"])
  })

  test("fails for a seed that does not end", async () => {
    const runs = await run({ seeds: [SEED.hangs], timeout: "1s" })
    expect(() => resultsOf(runs)).toThrow("Seed 904 has not ended within 1 s")
  })

  test("runs no further seed after one has failed, if so asked, and ends those that run", async () => {
    const runs = await run({ seeds: [SEED.hangs, SEED.throws, 1, 2], stopAtFirstFailure: true })
    expect(runs.map(({ outcome }) => outcome)).toEqual(["skipped", "failed", "skipped", "skipped"])
  })

  test("fails each seed when its module cannot be loaded", async () => {
    const runs = await runClusters({ module: new URL("./missing.ts", import.meta.url), seeds: 2, clusters: 1 })
    expect(runs.map(({ outcome }) => outcome)).toEqual(["failed", "failed"])
    expect(() => resultsOf(runs)).toThrow(/2 of 2 seeds failed\n {2}seed 1: .*missing\.ts/)
  })

  test("fails when its module exports no function", async () => {
    const runs = await runClusters({ module: new URL("./messages.ts", import.meta.url), seeds: 1 })
    expect(() => resultsOf(runs)).toThrow(/its default export is undefined; expected a function that gets a cluster/)
  })
})

test.each([
  { given: { seed: 3 }, says: 'runClusters has no option "seed"; did you mean seeds?' },
  {
    given: { seeds: 0 },
    says: "Cannot run seeds: 0: expected how many, such as 100, or a list of whole numbers",
  },
  { given: { clusters: 0 }, says: "Cannot run clusters: 0: expected a whole number of 1 or more" },
  {
    given: { module: "./drill.ts" },
    says: 'Cannot run module: "./drill.ts": expected a URL, such as new URL("./drill.ts", import.meta.url)',
  },
])("runClusters refuses $given", async ({ given, says }) => {
  const refused = await runClusters({ module, seeds: 1, ...given }).catch((err: Error) => err)
  expect((refused as Error).message).toBe(says)
  expect((refused as Error).stack).toContain("run-clusters.test.ts")
})
