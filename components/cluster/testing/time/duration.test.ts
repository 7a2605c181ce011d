import { expect, test } from "bun:test"
import { startCluster } from "../testing.ts"
import { milliseconds, signedMilliseconds } from "./duration.ts"

test.each([
  [-1500, -1500],
  ["-40s", -40_000],
  ["-1h30m", -5_400_000],
  ["90s", 90_000],
  ["3d", 259_200_000],
] as const)("%p is %d milliseconds where a duration may be negative", (duration, ms) => {
  expect(signedMilliseconds(duration)).toBe(ms)
})

test.each(["-40s", "--40s", "", "- 40s", "soon"])("%p is refused where a duration may not be negative", (duration) => {
  expect(() => milliseconds(duration)).toThrow("as a duration")
})

test("the clock of a machine can be behind", async () => {
  // given
  await using cluster = await startCluster({ servers: 3 })
  // when
  const skewed = await cluster.faults.clockSkewed("server-1", "-40s")
  // then
  await skewed.end()
})
