import { expect, test } from "bun:test"
import { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { hostCgroups, sliceName, weightOf } from "./cgroups.ts"

test("cgroups are named as their driver wants it", () => {
  const path = ["kubepods", "burstable", "podab-cd"]
  expect(hostCgroups("cgroupfs", new VirtualClock(0)).parentName(path)).toBe("/kubepods/burstable/podab-cd")
  expect(hostCgroups("systemd", new VirtualClock(0)).parentName(path)).toBe("kubepods-burstable-podab_cd.slice")
  expect(sliceName(["kubepods"])).toBe("kubepods.slice")
})

test("shares become the weights of cgroup v2", () => {
  expect([2, 1024, 262_144].map(weightOf)).toEqual([1, 39, 10_000])
})
