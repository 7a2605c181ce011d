import { describe, expect, test } from "bun:test"
import { podsOf, questionOf, states, usual, type Row } from "./replicas.fixtures.ts"
import { replicasForAverage, replicasForShare, replicasForValue } from "./replicas.ts"

/** Cases like those of pkg/controller/podautoscaler/replica_calculator_test.go. */

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

  test("fails without pods, since the ready ones cannot be counted", () => {
    expect(() => replicasForValue(20_000, 10_000, { pods: [], currentReplicas: 2, tolerances: usual })).toThrow(
      "unable to calculate ready pods: no pods returned by selector while calculating replica count",
    )
  })
})

describe("a value that is divided by the number of pods", () => {
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
