import { expect, test } from "bun:test"
import type { RuntimeContainer } from "../model/runtime-pod.ts"
import { planOf } from "../pod/plan.ts"
import { podOf, runOf, runtimeOf } from "../testing/pod.ts"
import { podStatus } from "./pod-status.ts"

test("the status and the plan of a pod of 3,000 containers look at each a few times", () => {
  // given a pod that runs, of which the reads of names are counted
  const pod = podOf({ containers: Array.from({ length: 3000 }, (_, i) => ({ name: `c${i}`, image: "i" })) })
  let reads = 0
  const runs = pod.spec.containers.map(({ name }): RuntimeContainer => {
    const run = runOf({ spec: { ...pod.spec, containers: [pod.spec.containers[0]!] } }, "c0", {})
    return Object.defineProperty({ ...run, id: name }, "name", {
      enumerable: true,
      get() {
        reads++
        return name
      },
    })
  })
  const runtime = runtimeOf(runs)
  const probes = { isStarted: () => true, isReady: () => true, failed: () => undefined }
  // when
  const request = { pod, runtime, probes, failures: new Map(), terminal: false, verdict: undefined, devices: () => [] }
  const status = podStatus({ ...request, before: pod.status, nodeIps: ["192.0.2.1"], now: 0 })
  planOf(pod, runtime, probes)
  // then
  expect(status.containerStatuses).toHaveLength(3000)
  expect(reads).toBeLessThan(3000 * 40)
})

test("the status of a pod of 3,000 readiness gates and conditions looks at each a few times", () => {
  // given conditions of which the reads of types are counted
  let reads = 0
  const types = Array.from({ length: 3000 }, (_, i) => `example.com/${i}`)
  const conditions = types.map((type) => ({
    get type() {
      reads++
      return type
    },
    status: "True",
  }))
  const given = podOf({
    containers: [{ name: "c", image: "i" }],
    readinessGates: types.map((conditionType) => ({ conditionType })),
  })
  const pod = { ...given, status: { ...given.status, conditions } } as typeof given
  const probes = { isStarted: () => true, isReady: () => true, failed: () => undefined }
  const runtime = runtimeOf([runOf(pod, "c", {})])
  // when
  const request = { pod, runtime, probes, failures: new Map(), terminal: false, verdict: undefined, devices: () => [] }
  const status = podStatus({ ...request, before: pod.status, nodeIps: ["192.0.2.1"], now: 0 })
  // then
  expect(status.conditions!.length).toBeGreaterThan(3000)
  expect(status.conditions!.find(({ type }) => type === "Ready")?.status).toBe("True")
  expect(reads).toBeLessThan(3000 * 40)
})
