import { expect, test } from "bun:test"
import { podCgroups } from "./pod-cgroups.ts"

test("a pod's cgroup is searched below each QoS class", () => {
  expect(podCgroups("u1")).toEqual([
    ["kubepods", "podu1"],
    ["kubepods", "burstable", "podu1"],
    ["kubepods", "besteffort", "podu1"],
  ])
})
