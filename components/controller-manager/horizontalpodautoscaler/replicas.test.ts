import { describe, expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import {
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  type Tolerances,
} from "./replicas.ts"

/** Cases of the kind that pkg/controller/podautoscaler/replica_calculator_test.go asks. */

const NOW = Date.parse("2026-01-01T01:00:00Z")
const LONG_AGO = "2026-01-01T00:00:00Z"
const usual = { up: 0.1, down: 0.1 }

/**
 * `up` is ready; `new` started a moment ago, and its metric is as old as that; `unready` has never been ready; of the
 * others the phase or the end is told.
 */
type State = "up" | "new" | "unready" | "pending" | "failed" | "deleted"

const states = (text: string): readonly State[] => text.split(" ").filter((one) => one !== "") as State[]

function podsOf(of: readonly State[], requests: readonly number[] = []): Pod[] {
  return of.map((state, index) => {
    const startTime = state === "new" ? new Date(NOW - 10_000).toISOString() : LONG_AGO
    const isReady = state !== "unready"
    const request = `${requests[index] ?? 1000}m`
    return {
      metadata: { name: `p${index}`, ...(state === "deleted" ? { deletionTimestamp: LONG_AGO } : {}) },
      spec: {
        containers: [
          { name: "main", resources: { requests: { cpu: request } } },
          { name: "side", resources: { requests: { cpu: request } } },
        ],
      },
      status: {
        phase: state === "pending" ? "Pending" : state === "failed" ? "Failed" : "Running",
        startTime,
        conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: startTime }],
      },
    } as unknown as Pod
  })
}

interface Row {
  readonly title: string
  readonly of: string
  /** What the first pods use, or each of their containers; the others say nothing. */
  readonly used: readonly number[]
  readonly target: number
  readonly current?: number
  readonly requests?: readonly number[]
  readonly tolerances?: Tolerances
  readonly wants: number
  /** Percent of the requests, or the average. */
  readonly shows: number
}

const questionOf = ({ of, used, current, requests, tolerances = usual }: Omit<Row, "title" | "wants" | "shows">) => ({
  pods: podsOf(states(of), requests),
  metrics: new Map(used.map((value, index) => [`p${index}`, { value, timestamp: NOW, windowMs: 60_000 }] as const)),
  currentReplicas: current ?? states(of).length,
  tolerances,
  resource: "cpu",
  now: NOW,
})

describe("a share of what pods request", () => {
  const rows: readonly Row[] = [
    { title: "higher usage needs more pods", of: "up up up", used: [300, 500, 700], target: 30, wants: 5, shows: 50 },
    {
      title: "lower usage needs fewer pods",
      of: "up up up up up",
      used: [100, 300, 500, 250, 250],
      target: 50,
      wants: 3,
      shows: 28,
    },
    {
      title: "a pod that is not ready counts as idle",
      of: "unready up up",
      used: [300, 500, 700],
      target: 30,
      wants: 4,
      shows: 60,
    },
    {
      title: "a pod that starts counts as idle, however high its usage is",
      of: "new up up",
      used: [300, 500, 700],
      target: 30,
      wants: 4,
      shows: 60,
    },
    {
      title: "two pods that are not ready prevent any change",
      of: "up unready unready",
      used: [400, 500, 700],
      target: 30,
      wants: 3,
      shows: 40,
    },
    {
      title: "two pods that start prevent any change",
      of: "up new new",
      used: [400, 500, 700],
      target: 30,
      wants: 3,
      shows: 40,
    },
    {
      title: "failed pods do not count when scaling up",
      of: "up up failed failed",
      used: [500, 700],
      current: 2,
      target: 30,
      wants: 4,
      shows: 60,
    },
    {
      title: "terminating pods do not count when scaling up",
      of: "up up deleted deleted",
      used: [500, 700],
      current: 2,
      target: 30,
      wants: 4,
      shows: 60,
    },
    {
      title: "pods that are not ready do not count when scaling down",
      of: "up up up unready unready",
      used: [100, 300, 500, 250, 250],
      target: 50,
      wants: 2,
      shows: 30,
    },
    {
      title: "pods without a node do not count",
      of: "up pending pending pending pending",
      used: [100],
      target: 50,
      wants: 1,
      shows: 10,
    },
    {
      title: "starting pods do not count when scaling down",
      of: "up up up new new",
      used: [100, 300, 500, 1000, 1000],
      target: 50,
      wants: 2,
      shows: 30,
    },
    {
      title: "failed pods do not count when scaling down",
      of: "up up up up up failed failed",
      used: [100, 300, 500, 250, 250],
      current: 5,
      target: 50,
      wants: 3,
      shows: 28,
    },
    {
      title: "terminating pods do not count when scaling down",
      of: "up up up up up deleted deleted",
      used: [100, 300, 500, 250, 250, 900, 900],
      current: 5,
      target: 50,
      wants: 3,
      shows: 28,
    },
    {
      title: "nothing changes within a tenth of the target",
      of: "up up up",
      requests: [900, 1000, 1100],
      used: [1010, 1030, 1020],
      target: 100,
      wants: 3,
      shows: 102,
    },
    {
      title: "any deviation scales with a tolerance of 0",
      of: "up up up",
      requests: [900, 1000, 1100],
      used: [909, 1010, 1111],
      tolerances: { up: 0, down: 0 },
      target: 100,
      wants: 4,
      shows: 101,
    },
    {
      title: "a large tolerance for scaling up prevents it",
      of: "up up up",
      requests: [900, 1000, 1100],
      used: [1890, 1910, 1900],
      tolerances: { up: 2, down: 0.1 },
      target: 100,
      wants: 3,
      shows: 190,
    },
    {
      title: "a tolerance for scaling down does not prevent scaling up",
      of: "up up up",
      requests: [900, 1000, 1100],
      used: [1100, 1080, 1090],
      tolerances: { up: 0.08, down: 2 },
      target: 100,
      wants: 4,
      shows: 109,
    },
    {
      title: "a large tolerance for scaling down prevents it",
      of: "up up up",
      used: [100, 100, 100],
      tolerances: { up: 0.1, down: 0.95 },
      target: 100,
      wants: 3,
      shows: 10,
    },
    {
      title: "metrics of pods of other workloads do not count",
      of: "up up up up",
      used: [4000, 9500, 3000, 7000, 3200, 2000],
      target: 100,
      wants: 24,
      shows: 587,
    },
    {
      title: "two pods without metrics count as fully used when scaling down",
      of: "up up up up",
      used: [400, 95],
      target: 100,
      wants: 3,
      shows: 24,
    },
    {
      title: "a pod without metrics changes nothing when the rest is on target",
      of: "up up",
      used: [1000],
      target: 100,
      wants: 2,
      shows: 100,
    },
    {
      title: "a pod without metrics prevents scaling up, when without its usage it would scale down",
      of: "up up",
      used: [1900],
      target: 100,
      wants: 2,
      shows: 190,
    },
    {
      title: "a pod without metrics prevents scaling down, when with its full usage it would scale up",
      of: "up up",
      used: [600],
      target: 100,
      wants: 2,
      shows: 60,
    },
    {
      title: "nothing changes near the target with one pod not ready and one without metrics",
      of: "unready up up",
      used: [100, 450],
      target: 50,
      wants: 3,
      shows: 45,
    },
    {
      title: "nothing changes near the target with one pod starting and one without metrics",
      of: "new up up",
      used: [100, 450],
      target: 50,
      wants: 3,
      shows: 45,
    },
    {
      title: "usage far above the target scales up with one pod not ready and one without metrics",
      of: "unready up up",
      used: [100, 2000],
      target: 50,
      wants: 4,
      shows: 200,
    },
    {
      title: "usage far above the target scales up with one pod starting and one without metrics",
      of: "new up up",
      used: [100, 2000],
      target: 50,
      wants: 4,
      shows: 200,
    },
    {
      title: "usage far below the target scales down with one pod not ready and one without metrics",
      of: "unready up up up",
      used: [100, 100, 100],
      target: 50,
      wants: 3,
      shows: 10,
    },
    {
      title: "pods without metrics count as on target when the target exceeds their requests",
      of: "unready up up up",
      requests: [1000, 1000, 2000, 2000],
      used: [200, 100, 100],
      target: 300,
      wants: 2,
      shows: 6,
    },
    {
      title: "a rollout may have more pods than replicas",
      of: "up up up",
      current: 2,
      used: [100, 100],
      target: 50,
      wants: 2,
      shows: 10,
    },
  ]
  test.each(rows)("of all containers: $title", (row) => {
    const both = { ...row, used: row.used.map((value) => 2 * value) }
    const { replicas, utilization } = replicasForUtilization(questionOf(both), row.target, undefined)
    expect({ replicas, utilization }).toEqual({ replicas: row.wants, utilization: row.shows })
  })
  test.each(rows)("of one container: $title", (row) => {
    const { replicas, utilization } = replicasForUtilization(questionOf(row), row.target, "side")
    expect({ replicas, utilization }).toEqual({ replicas: row.wants, utilization: row.shows })
  })

  test("is told with the average use", () => {
    const question = questionOf({ of: "up up", used: [300, 500], target: 40 })
    expect(replicasForUtilization(question, 40, "side")).toEqual({ replicas: 2, average: 400, utilization: 40 })
  })

  test("counts a use of memory from the first moment", () => {
    const pods = podsOf(states("new new")).map((pod) => ({
      ...pod,
      spec: { ...pod.spec, resources: { requests: { memory: "1k" } } },
    }))
    const question = { ...questionOf({ of: "new new", used: [2_000_000, 2_000_000], target: 100 }), pods }
    expect(replicasForUtilization({ ...question, resource: "memory" }, 100, undefined).replicas).toBe(4)
  })
})

describe("an average of all pods", () => {
  test.each<Row>([
    {
      title: "a value above the target scales up",
      of: "up up up",
      used: [20_000, 10_000, 30_000],
      target: 15_000,
      wants: 4,
      shows: 20_000,
    },
    {
      title: "pods that are not ready count with their value",
      of: "up up new",
      used: [50_000, 10_000, 30_000],
      target: 15_000,
      wants: 6,
      shows: 30_000,
    },
    {
      title: "any number of pods that are not ready counts",
      of: "unready up unready",
      used: [50_000, 15_000, 30_000],
      target: 15_000,
      wants: 7,
      shows: 31_666,
    },
    {
      title: "a value below the target scales down",
      of: "up up up up up",
      used: [12_000, 12_000, 12_000, 12_000, 12_000],
      target: 20_000,
      wants: 3,
      shows: 12_000,
    },
    {
      title: "a value near the target changes nothing",
      of: "up up up",
      used: [20_000, 21_000, 21_000],
      target: 20_000,
      wants: 3,
      shows: 20_666,
    },
    {
      title: "a value near the target scales with a tolerance of one percent",
      of: "up up up",
      used: [20_000, 21_000, 21_000],
      tolerances: { up: 0.01, down: 0.1 },
      target: 20_000,
      wants: 4,
      shows: 20_666,
    },
    {
      title: "a value on target changes nothing when two pods have no metrics",
      of: "up up up up up",
      used: [20_000, 19_000, 21_000],
      target: 20_000,
      wants: 5,
      shows: 20_000,
    },
    {
      title: "a rollout may have more pods than replicas",
      of: "up up up",
      current: 2,
      used: [10_000, 10_000],
      target: 17_000,
      wants: 2,
      shows: 10_000,
    },
  ])("$title", (row) => {
    const { replicas, average } = replicasForAverage({ ...questionOf(row), resource: "" }, row.target)
    expect({ replicas, average }).toEqual({ replicas: row.wants, average: row.shows })
  })
})

const MAX_INT32 = 2 ** 31 - 1

describe("one value for the whole workload", () => {
  test.each([
    { title: "a value above the target scales up", of: "up up up", used: 20_000, target: 15_000, wants: 4 },
    {
      title: "a value above the target is divided by the ready pods only",
      of: "unready up unready",
      used: 50_000,
      target: 10_000,
      wants: 5,
    },
    {
      title: "a value above the target may scale down when one pod of three is ready",
      of: "unready up unready",
      used: 8600,
      target: 4400,
      wants: 2,
    },
    { title: "a value below the target scales down", of: "up up up up up", used: 12_000, target: 20_000, wants: 3 },
    {
      title: "a value below the target rounds up to whole pods",
      of: "up up up up up",
      used: 8600,
      target: 14_334,
      wants: 3,
    },
    { title: "a value just above the target changes nothing", of: "up up up", used: 20_666, target: 20_000, wants: 3 },
    { title: "a value just below the target changes nothing", of: "up up up", used: 8600, target: 8888, wants: 3 },
    {
      title: "a value just above the target scales with a tolerance of one percent",
      of: "up up up",
      used: 8900,
      target: 8800,
      up: 0.01,
      wants: 4,
    },
    { title: "without replicas the ratio alone decides", of: "", used: 25_000, target: 10_000, wants: 3 },
    { title: "without replicas the tolerance is ignored", of: "", used: 10_500, target: 10_000, wants: 2 },
    { title: "a value of 0 needs no replicas", of: "up up up", used: 0, target: 10_000, wants: 0 },
    {
      title: "a huge value needs the largest number of replicas",
      of: "up up up",
      used: 2 ** 63,
      target: 1,
      wants: MAX_INT32,
    },
  ])("$title", ({ of, used, target, up = 0.1, wants }) => {
    const pods = podsOf(states(of))
    const tolerances = { ...usual, up }
    expect(replicasForValue(used, target, { pods, currentReplicas: pods.length, tolerances })).toBe(wants)
  })

  test("needs pods to count the ready ones of", () => {
    expect(() => replicasForValue(20_000, 10_000, { pods: [], currentReplicas: 2, tolerances: usual })).toThrow(
      "unable to calculate ready pods: no pods returned by selector while calculating replica count",
    )
  })
})

describe("a value that pods share", () => {
  test.each([
    { title: "a value above the target scales up", current: 3, used: 20_000, target: 5000, wants: 4, shows: 6667 },
    {
      title: "a value a little above the target scales up",
      current: 3,
      used: 8600,
      target: 2150,
      wants: 4,
      shows: 2867,
    },
    { title: "a value below the target scales down", current: 5, used: 6000, target: 2000, wants: 3, shows: 1200 },
    {
      title: "a value below the target rounds up to whole pods",
      current: 5,
      used: 8600,
      target: 2867,
      wants: 3,
      shows: 1720,
    },
    {
      title: "a value just above the target changes nothing",
      current: 4,
      used: 20_166,
      target: 5000,
      wants: 4,
      shows: 5042,
    },
    {
      title: "a value just below the target changes nothing",
      current: 3,
      used: 8600,
      target: 2900,
      wants: 3,
      shows: 2867,
    },
    {
      title: "a value just above the target scales with a tolerance of one percent",
      current: 4,
      used: 20_208,
      target: 5000,
      up: 0.01,
      wants: 5,
      shows: 5052,
    },
    {
      title: "an external value just above the target scales with a tolerance of one percent",
      current: 3,
      used: 8600,
      target: 2800,
      up: 0.01,
      wants: 4,
      shows: 2867,
    },
    {
      title: "a huge value needs the largest number of replicas",
      current: 1,
      used: 2 ** 63,
      target: 1,
      wants: MAX_INT32,
      shows: 2 ** 63,
    },
    {
      title: "a huge value on a huge target needs one replica",
      current: 1,
      used: 2 ** 63,
      target: 2 ** 63,
      wants: 1,
      shows: 2 ** 63,
    },
    {
      title: "a value counts before the first pod is counted",
      current: 0,
      used: 9000,
      target: 2000,
      wants: 5,
      shows: 9000,
    },
  ])("$title", ({ current, used, target, up = 0.1, wants, shows }) => {
    const answer = replicasForShare(used, target, { currentReplicas: current, tolerances: { ...usual, up } })
    expect(answer).toEqual({ replicas: wants, average: shows })
  })
})

test.each([
  { title: "no pods", of: "", used: [], says: "no pods returned by selector while calculating replica count" },
  {
    title: "only pods that are not ready",
    of: "new pending",
    used: [100, 100],
    says: "did not receive metrics for targeted pods (pods might be unready)",
  },
  { title: "metrics of other pods", of: "up", used: [], other: 100, says: "no metrics returned matched known pods" },
])("with $title nothing can be worked out", ({ of, used, other, says }) => {
  const question = questionOf({ of, used, target: 50 })
  if (other !== undefined) question.metrics.set("p9", { value: other, timestamp: NOW, windowMs: 60_000 })
  expect(() => replicasForUtilization(question, 50, undefined)).toThrow(says)
})
