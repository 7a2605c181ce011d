import { expect, test } from "bun:test"
import type { Outcome, Part } from "./part.ts"
import { failedFilesOf, MOST_FILES, passedAlone } from "./second-try.ts"

const part: Part = {
  name: "test/cli",
  paths: ["./test/cli"],
  timeout: 1,
  limit: 1,
  needsBuild: true,
  needsRoot: false,
  beside: "all",
}
const outcome = (change: Partial<Outcome> = {}): Outcome => ({
  passed: 1,
  failed: 0,
  skipped: 0,
  failures: [],
  faults: [],
  files: {},
  output: "",
  seconds: 1,
  processorSeconds: 1,
  ...change,
})
const failedIn = (...files: readonly (string | undefined)[]) =>
  outcome({
    failed: files.length,
    failures: files.map((file, i) => ({ ...(file !== undefined && { file }), title: `test ${i}` })),
    output: "Test clusters of this run: seed 7 (K3TS_SEED=7 replays it)",
  })

test("each file that failed is run once more, with the seed of the first try", async () => {
  // given a file with two failures, and one with a single
  const files = failedFilesOf(part, failedIn("a.test.ts", "b.test.ts", "a.test.ts", undefined))
  const runs: unknown[] = []

  // when only the first passes alone
  const passed = await passedAlone(files, ({ name, paths }, seed) => {
    runs.push([name, paths, seed])
    return Promise.resolve(outcome(name === "a.test.ts" ? {} : { failed: 1 }))
  })

  // then
  expect(runs).toEqual([
    ["a.test.ts", ["./a.test.ts"], "7"],
    ["b.test.ts", ["./b.test.ts"], "7"],
  ])
  expect(passed.map(({ file, failures }) => [file, failures.length])).toEqual([["a.test.ts", 2]])
})

test("a second try that crashes or runs no test has not passed", async () => {
  const files = failedFilesOf(part, failedIn("a.test.ts"))
  expect(await passedAlone(files, () => Promise.resolve(outcome({ faults: ["crashed"] })))).toEqual([])
  expect(await passedAlone(files, () => Promise.resolve(outcome({ passed: 0 })))).toEqual([])
})

test("nothing is tried again where many files failed", async () => {
  const files = failedFilesOf(part, failedIn(...Array.from({ length: MOST_FILES + 1 }, (_, i) => `${i}.test.ts`)))
  expect(await passedAlone(files, () => Promise.reject(new Error("tried")))).toEqual([])
})
