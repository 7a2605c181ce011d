import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { replicasForAverage, replicasForShare, replicasForUtilization, replicasForValue } from "./replicas.ts"

/** Cases of the kind that pkg/controller/podautoscaler/replica_calculator_test.go asks. */

const NOW = Date.parse("2026-01-01T01:00:00Z")
const LONG_AGO = "2026-01-01T00:00:00Z"
const tolerances = { up: 0.1, down: 0.1 }

/** `up` is ready, `new` started a moment ago and has not been ready, and of the others the state is told. */
type State = "up" | "new" | "pending" | "failed" | "deleted" | "silent"

function podsOf(states: readonly State[], request = "1"): Pod[] {
  return states.map((state, index) => {
    const startTime = state === "new" ? new Date(NOW - 10_000).toISOString() : LONG_AGO
    const ready = { type: "Ready", status: state === "new" ? "False" : "True", lastTransitionTime: startTime }
    return {
      metadata: { name: `p${index}`, ...(state === "deleted" ? { deletionTimestamp: LONG_AGO } : {}) },
      spec: { containers: [{ name: "c", resources: { requests: { cpu: request } } }] },
      status: {
        phase: state === "pending" ? "Pending" : state === "failed" ? "Failed" : "Running",
        startTime,
        conditions: [ready],
      },
    } as unknown as Pod
  })
}
const questionOf = (states: readonly State[], used: readonly number[], currentReplicas = states.length) => ({
  pods: podsOf(states),
  metrics: new Map(
    used.flatMap((value, index) =>
      states[index] === "silent" ? [] : [[`p${index}`, { value, timestamp: NOW, windowMs: 15_000 }] as const],
    ),
  ),
  currentReplicas,
  tolerances,
  resource: "cpu",
  now: NOW,
})
const states = (...given: State[]): readonly State[] => given

test.each([
  { title: "more use, more pods", of: states("up", "up", "up"), used: [300, 500, 700], target: 30, wants: 5 },
  {
    title: "less use, fewer pods",
    of: states("up", "up", "up", "up", "up"),
    used: [100, 300, 500, 250, 250],
    target: 50,
    wants: 3,
  },
  { title: "within a tenth, the same", of: states("up", "up", "up"), used: [1010, 1030, 1020], target: 100, wants: 3 },
  {
    title: "a pod that is not ready counts as idle",
    of: states("new", "up", "up"),
    used: [300, 500, 700],
    target: 30,
    wants: 4,
  },
  {
    title: "pods that have just started hold all of it back",
    of: states("up", "new", "new"),
    used: [400, 500, 700],
    target: 30,
    wants: 3,
  },
  {
    title: "a pod that waits is not counted as used",
    of: states("up", "up", "pending"),
    used: [500, 700],
    target: 30,
    wants: 4,
  },
  {
    title: "failed and deleted pods do not count",
    of: states("up", "up", "failed", "deleted"),
    used: [500, 700, 900, 900],
    target: 30,
    wants: 4,
  },
  {
    title: "a pod that says nothing counts as idle where more are wanted",
    of: states("up", "up", "silent"),
    used: [600, 600],
    target: 30,
    wants: 4,
  },
  {
    title: "and as fully used where fewer are wanted",
    of: states("up", "up", "up", "silent"),
    used: [100, 100, 100],
    target: 50,
    wants: 3,
  },
  {
    title: "where both would turn the decision round, nothing changes",
    of: states("up", "silent"),
    used: [600],
    target: 50,
    wants: 2,
  },
])("$title", ({ of, used, target, wants }) => {
  expect(replicasForUtilization(questionOf(of, used), target, undefined).replicas).toBe(wants)
})

test("of a use the average is told, and its part of what is requested", () => {
  expect(replicasForUtilization(questionOf(["up", "up"], [300, 500]), 40, undefined)).toEqual({
    replicas: 2,
    average: 400,
    utilization: 40,
  })
})

test.each([
  { title: "more than the target", used: [20_000, 10_000, 30_000], target: 15_000, wants: 4 },
  { title: "less than the target", used: [12_000, 12_000, 12_000, 12_000, 12_000], target: 20_000, wants: 3 },
  { title: "about the target", used: [20_000, 21_000, 21_000], target: 20_666, wants: 3 },
])("an average that is $title", ({ used, target, wants }) => {
  const all = used.map((): State => "up")
  expect(replicasForAverage({ ...questionOf(all, used), resource: "" }, target).replicas).toBe(wants)
})

test.each([
  { title: "twice the target doubles the pods", used: 20_000, target: 10_000, pods: 3, current: 3, wants: 6 },
  { title: "within a tenth nothing changes", used: 10_500, target: 10_000, pods: 3, current: 3, wants: 3 },
  { title: "from none it is the ratio alone", used: 25_000, target: 10_000, pods: 0, current: 0, wants: 3 },
])("of one value: $title", ({ used, target, pods, current, wants }) => {
  const all = Array.from({ length: pods }, (): State => "up")
  expect(replicasForValue(used, target, { pods: podsOf(all), currentReplicas: current, tolerances })).toBe(wants)
})

test("a value that is shared gives each pod its part", () => {
  expect(replicasForShare(8_600_000, 2_000_000, { currentReplicas: 3, tolerances })).toEqual({
    replicas: 5,
    average: 2_866_667,
  })
})

test.each([
  { title: "no pods", of: states(), used: [], says: "no pods returned by selector while calculating replica count" },
  {
    title: "only pods that are not ready",
    of: states("new", "pending"),
    used: [100, 100],
    says: "did not receive metrics for targeted pods (pods might be unready)",
  },
])("with $title nothing can be worked out", ({ of, used, says }) => {
  expect(() => replicasForUtilization(questionOf(of, used), 50, undefined)).toThrow(says)
})

test("a container that requests nothing is named", () => {
  const question = { ...questionOf(["up"], [100]), resource: "memory" }
  expect(() => replicasForUtilization(question, 50, undefined)).toThrow(
    "missing request for memory in container c of Pod p0",
  )
  expect(() => replicasForUtilization(question, 50, "other")).toThrow("container other not found in Pod p0")
})
