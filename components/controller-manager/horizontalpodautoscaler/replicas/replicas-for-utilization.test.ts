import { describe, expect, test } from "bun:test"
import { NOW, podsOf, questionOf, states, type Row } from "./replicas.fixtures.ts"
import { replicasForUtilization } from "./replicas.ts"

/** Cases like those of pkg/controller/podautoscaler/replica_calculator_test.go. */

describe("utilization of requests", () => {
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

  test("is returned with the average usage", () => {
    const question = questionOf({ of: "up up", used: [300, 500], target: 40 })
    expect(replicasForUtilization(question, 40, "side")).toEqual({ replicas: 2, average: 400, utilization: 40 })
  })

  test("counts memory of pods that have just started", () => {
    const pods = podsOf(states("new new")).map((pod) => ({
      ...pod,
      spec: { ...pod.spec, resources: { requests: { memory: "1k" } } },
    }))
    const question = { ...questionOf({ of: "new new", used: [2_000_000, 2_000_000], target: 100 }), pods }
    expect(replicasForUtilization({ ...question, resource: "memory" }, 100, undefined).replicas).toBe(4)
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
])("no utilization can be computed with $title", ({ of, used, other, says }) => {
  const question = questionOf({ of, used, target: 50 })
  if (other !== undefined) question.metrics.set("p9", { value: other, timestamp: NOW, windowMs: 60_000 })
  expect(() => replicasForUtilization(question, 50, undefined)).toThrow(says)
})
