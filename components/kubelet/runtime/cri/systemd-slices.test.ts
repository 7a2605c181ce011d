import { expect, test } from "bun:test"
import { sliceProperties, weightOf } from "./systemd-slices.ts"

test("shares become the weights of cgroup v2", () => {
  expect([2, 1024, 262_144].map(weightOf)).toEqual([1, 39, 10_000])
})

const NONE = "18446744073709551615"

test.each([
  { title: "no limits", given: {}, wants: [] },
  { title: "limits that are not set", given: { cpuShares: 0, cpuQuota: 0, memoryLimitInBytes: 0 }, wants: [] },
  {
    title: "a weight and memory",
    given: { cpuShares: 1024, memoryLimitInBytes: 64 * 2 ** 20 },
    wants: [
      ["CPUWeight", "t", "39"],
      ["MemoryMax", "t", "67108864"],
    ],
  },
  {
    title: "a quota, in whole percents of a second",
    given: { cpuQuota: 20_001, cpuPeriod: 100_000 },
    wants: [
      ["CPUQuotaPerSecUSec", "t", "210000"],
      ["CPUQuotaPeriodUSec", "t", "100000"],
    ],
  },
  {
    title: "limits that remove earlier ones",
    given: { cpuQuota: -1, memoryLimitInBytes: -1 },
    wants: [
      ["CPUQuotaPerSecUSec", "t", NONE],
      ["CPUQuotaPeriodUSec", "t", "100000"],
      ["MemoryMax", "t", NONE],
    ],
  },
] as const)("systemd gets $title", ({ given, wants }) => {
  expect(sliceProperties(given)).toEqual(wants)
})
