import { describe, expect, test } from "bun:test"
import { cpuQuota, cpuShares, oomScoreAdj, podSums, qosClass } from "./qos.ts"
import { podOf } from "../testing/pod.ts"

const both = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } })
const c = (name: string, resources: object = {}, more: object = {}) => ({ name, image: "i", resources, ...more })
const GIB = 2 ** 30

describe("the QoS class of a pod", () => {
  test.each([
    ["BestEffort", [c("a"), c("b")]],
    ["Guaranteed", [c("a", both("1", "1Gi")), c("b", both("100m", "1Mi"))]],
    ["Guaranteed", [c("a", { limits: { cpu: "1", memory: "1Gi" } })]],
    ["Burstable", [c("a", both("1", "1Gi")), c("b")]],
    ["Burstable", [c("a", { requests: { cpu: "1" } })]],
    ["Burstable", [c("a", { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } })]],
  ] as const)("is %s", (expected, containers) => {
    expect(qosClass(podOf({ containers: [...containers] }))).toBe(expected)
  })

  test("decides which process the OOM killer ends first", () => {
    const score = (resources: object, spec: object = {}) => {
      const pod = podOf({ containers: [c("a", resources)], ...spec })
      return oomScoreAdj(pod, pod.spec.containers[0]!, 8 * GIB)
    }
    expect([
      score({}),
      score(both("1", "1Gi")),
      score({ requests: { memory: "4Gi" } }),
      score({ requests: { memory: "1" } }),
      score({}, { priority: 2_000_000_000 }),
    ]).toEqual([1000, -997, 500, 999, -997])
  })

  test("converts cpu to cgroup shares", () => {
    expect([0, 1, 10, 1000, 1e9].map(cpuShares)).toEqual([2, 2, 10, 1024, 262_144])
    expect([0, 1, 500, 2000].map(cpuQuota)).toEqual([-1, 1000, 50_000, 200_000])
  })

  test("sums containers and sidecars, or the largest init container with the sidecars before it", () => {
    const pod = podOf({
      initContainers: [
        c("s", { requests: { cpu: "100m" } }, { restartPolicy: "Always" }),
        c("i", { requests: { cpu: "2" } }),
      ],
      containers: [c("a", both("500m", "1Gi")), c("b", both("500m", "1Gi"))],
    })
    expect(podSums(pod)).toEqual({ cpuRequest: 2100, cpuLimit: 0, memoryLimit: 0, memoryRequest: 2 * GIB })
  })
})
