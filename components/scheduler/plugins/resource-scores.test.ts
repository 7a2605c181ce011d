/** Cases of upstream's least_allocated_test.go, most_allocated_test.go, requested_to_capacity_ratio_test.go and others. */
import { describe, expect, test } from "bun:test"
import type { ScoringStrategy } from "../config/plugin-args.ts"
import { NodeInfo } from "../node-info.ts"
import { asking, nodeOf, podOf } from "../schedule-one.fixtures.ts"
import { balancedScore, fitScore } from "./resource-scores.ts"

const resources = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
]
/** A node with these amounts, on which pods request others. */
function used(allocatable: object, requests?: object): NodeInfo {
  const info = new NodeInfo(nodeOf("n", { allocatable }))
  if (requests !== undefined) info.add(podOf("before", asking(requests)))
  return info
}
const score = (strategy: Partial<ScoringStrategy>, requests: object, node: NodeInfo) =>
  fitScore({ type: "LeastAllocated", resources, ...strategy })(podOf("p", asking(requests)), node)
const shape = (...points: readonly [number, number][]): Partial<ScoringStrategy> => ({
  type: "RequestedToCapacityRatio",
  requestedToCapacityRatio: { shape: points.map(([utilization, score]) => ({ utilization, score })) },
})

describe("the score of NodeResourcesFit", () => {
  test.each<[string, Partial<ScoringStrategy>, object, object, object | undefined, number]>([
    ["of an empty node", {}, { cpu: "3000m", memory: "5000" }, { cpu: "4000m", memory: "10000" }, undefined, 37],
    ["of a larger empty node", {}, { cpu: "3000m", memory: "5000" }, { cpu: "6000m", memory: "10000" }, undefined, 50],
    [
      "of a node on which a resource is exceeded",
      {},
      { cpu: "5", memory: "1" },
      { cpu: "4", memory: "10" },
      undefined,
      45,
    ],
    [
      "by weights",
      { resources: [{ name: "cpu", weight: 2 }, resources[1]!] },
      { cpu: "3000m", memory: "5000" },
      { cpu: "4000m", memory: "10000" },
      undefined,
      33,
    ],
    [
      "that fills nodes",
      { type: "MostAllocated" },
      { cpu: "3000m", memory: "5000" },
      { cpu: "4000m", memory: "10000" },
      undefined,
      62,
    ],
    [
      "that fills nodes, beside other pods",
      { type: "MostAllocated" },
      { cpu: "1", memory: "10" },
      { cpu: "4", memory: "100" },
      { cpu: "2", memory: "30" },
      57,
    ],
    [
      "by a falling shape",
      shape([0, 10], [100, 0]),
      { cpu: "3000m", memory: "5000" },
      { cpu: "4000m", memory: "10000" },
      undefined,
      38,
    ],
    [
      "by a rising shape",
      shape([0, 0], [100, 10]),
      { cpu: "1", memory: "25" },
      { cpu: "4", memory: "100" },
      undefined,
      25,
    ],
    [
      "by a shape that is 0 for one resource",
      shape([50, 0], [100, 10]),
      { cpu: "1", memory: "75" },
      { cpu: "4", memory: "100" },
      undefined,
      50,
    ],
    [
      "by a device that the pod asks for",
      { type: "MostAllocated", resources: [{ name: "example.com/gpu", weight: 1 }] },
      { "example.com/gpu": "1" },
      { "example.com/gpu": "4" },
      { "example.com/gpu": "2" },
      75,
    ],
    [
      "by a device for which the pod does not ask",
      { resources: [{ name: "example.com/gpu", weight: 1 }] },
      { cpu: "1" },
      { "example.com/gpu": "4" },
      undefined,
      0,
    ],
  ])("%s", (_what, strategy, requests, allocatable, before, expected) => {
    expect(score(strategy, requests, used(allocatable, before))).toBe(expected)
  })
})

describe("the score of NodeResourcesBalancedAllocation", () => {
  const balanced = (requests: object, node: NodeInfo, names: readonly string[] = ["cpu", "memory"]) =>
    balancedScore(names.map((name) => ({ name, weight: 1 })))(podOf("p", asking(requests)), node)

  test.each<[string, object, object, object | undefined, number]>([
    ["of a pod without requests", {}, { cpu: "4", memory: "100" }, undefined, 0],
    ["of a pod that leaves a node balanced", { cpu: "2", memory: "50" }, { cpu: "4", memory: "100" }, undefined, 75],
    ["of a pod that makes it less so", { cpu: "4", memory: "50" }, { cpu: "4", memory: "100" }, undefined, 62],
    [
      "of a pod that makes it more so",
      { cpu: "0", memory: "50" },
      { cpu: "4", memory: "100" },
      { cpu: "2", memory: "0" },
      87,
    ],
  ])("%s", (_what, requests, allocatable, before, expected) => {
    expect(balanced(requests, used(allocatable, before))).toBe(expected)
  })

  test("counts three resources by their deviation", () => {
    const node = used({ cpu: "10", memory: "10", "example.com/gpu": "10" })
    expect(
      balanced({ cpu: "1", memory: "2", "example.com/gpu": "3" }, node, ["cpu", "memory", "example.com/gpu"]),
    ).toBe(70)
  })
})
