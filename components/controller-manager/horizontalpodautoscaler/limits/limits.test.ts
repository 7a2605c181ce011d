import { describe, expect, test } from "bun:test"
import { limited, NO_HISTORY, rememberChange, stabilized, stabilizedByRules, type History } from "./limits.ts"
import { NOW, rulesOf } from "./limits.fixtures.ts"

const MINUTE = 60_000

describe("an autoscaler without policies", () => {
  test.each([
    {
      title: "scales freely between minReplicas and maxReplicas",
      now: 5,
      to: 7,
      bounds: [3, 8],
      wants: "7 DesiredWithinRange",
    },
    { title: "does not go below minReplicas", now: 3, to: 1, bounds: [2, 8], wants: "2 TooFewReplicas" },
    { title: "scales to 0 when minReplicas is 0", now: 1, to: 0, bounds: [0, 10], wants: "0 DesiredWithinRange" },
    { title: "does not exceed maxReplicas", now: 20, to: 1000, bounds: [1, 10], wants: "10 TooManyReplicas" },
    { title: "at most doubles the replicas", now: 3, to: 1000, bounds: [1, 2000], wants: "6 ScaleUpLimit" },
    { title: "may always scale to 4 replicas", now: 1, to: 1000, bounds: [1, 2000], wants: "4 ScaleUpLimit" },
  ])("$title", ({ now, to, bounds: [least = 0, most = 0], wants }) => {
    const { replicas, reason } = limited({ current: now, desired: to, least, most, now: NOW })
    expect(`${replicas} ${reason}`).toBe(wants)
  })

  test.each([
    { title: "follows its first recommendation", past: [], to: 5, wants: 5, kept: 1 },
    {
      title: "keeps the highest recommendation of five minutes",
      past: [
        [4, 2],
        [5, 1],
      ],
      to: 3,
      wants: 5,
      kept: 3,
    },
    {
      title: "scales up at once",
      past: [
        [1, 2],
        [2, 1],
      ],
      to: 3,
      wants: 3,
      kept: 3,
    },
    {
      title: "forgets recommendations that are older",
      past: [
        [10, 10],
        [9, 9],
      ],
      to: 3,
      wants: 3,
      kept: 1,
    },
    {
      title: "keeps recommendations that are younger",
      past: [
        [10, 10],
        [4, 1],
        [5, 2],
        [9, 9],
      ],
      to: 3,
      wants: 5,
      kept: 3,
    },
  ])("$title", ({ past, to, wants, kept }) => {
    const { replicas, history } = stabilized(pastOf(past), { current: 100, desired: to, least: 1, most: 100, now: NOW })
    expect([replicas, history.recommendations.length]).toEqual([wants, kept])
  })
})

/** Returns a history of recommendations, each given with its age in minutes. */
const pastOf = (past: readonly (readonly number[])[]): History => ({
  ...NO_HISTORY,
  recommendations: past.map(([replicas = 0, ago = 0]) => ({ replicas, at: NOW - ago * MINUTE })),
})

describe("the stabilization windows of an autoscaler", () => {
  test.each([
    { title: "keep the recommendation if there are no earlier ones", past: [], now: 100, to: 5, wants: 5 },
    {
      title: "scale down only to the highest recommendation of the window",
      past: [
        [4, 2],
        [5, 1],
      ],
      now: 100,
      to: 3,
      down: 180,
      wants: 5,
    },
    {
      title: "scale up only to the lowest recommendation of the window",
      past: [
        [4, 2],
        [5, 1],
      ],
      now: 1,
      to: 7,
      up: 300,
      wants: 4,
    },
    {
      title: "for scaling up do not delay scaling down",
      past: [
        [1, 2],
        [2, 1],
      ],
      now: 100,
      to: 3,
      up: 300,
      wants: 3,
    },
    {
      title: "for scaling down do not delay scaling up",
      past: [
        [4, 2],
        [5, 1],
      ],
      now: 1,
      to: 3,
      down: 300,
      wants: 3,
    },
    {
      title: "scale down at once when all recommendations are too old",
      past: [
        [10, 10],
        [9, 9],
      ],
      now: 100,
      to: 3,
      wants: 3,
    },
    {
      title: "scale up at once when all recommendations are too old",
      past: [
        [10, 10],
        [9, 9],
      ],
      now: 1,
      to: 100,
      wants: 100,
    },
    {
      title: "ignore recommendations that are too old when scaling down",
      past: [
        [10, 10],
        [4, 1],
        [5, 2],
        [9, 9],
      ],
      now: 100,
      to: 3,
      down: 180,
      wants: 5,
    },
    {
      title: "ignore recommendations that are too old when scaling up",
      past: [
        [10, 100],
        [6, 1],
        [5, 2],
        [9, 3],
      ],
      now: 1,
      to: 100,
      up: 300,
      wants: 5,
    },
    {
      title: "do not scale down to a lower current recommendation while scaling up is delayed",
      past: [
        [2, 100],
        [3, 3],
      ],
      now: 2,
      to: 1,
      up: 300,
      down: 300,
      wants: 2,
    },
    {
      title: "do not scale up to a higher current recommendation while scaling down is delayed",
      past: [
        [2, 100],
        [1, 3],
      ],
      now: 2,
      to: 3,
      up: 300,
      down: 300,
      wants: 2,
    },
    { title: "are five minutes by default for scaling down", past: [[9, 4]], now: 9, to: 1, usual: true, wants: 9 },
    { title: "end after five minutes by default", past: [[9, 6]], now: 9, to: 1, usual: true, wants: 1 },
  ])("$title", ({ past, now, to, up = 0, down = 0, usual, wants }) => {
    const recommendation = { current: now, desired: to, least: 0, most: 1000, now: NOW }
    const { stabilizationWindowSeconds: _, ...unsaid } = rulesOf({})
    const rules = { up: rulesOf({ window: up }), down: usual === true ? unsaid : rulesOf({ window: down }) }
    const { replicas, reason } = stabilizedByRules(pastOf(past), recommendation, rules)
    expect([replicas, reason]).toEqual([wants, to >= now ? "ScaleUpStabilized" : "ScaleDownStabilized"])
  })
})

describe("the remembered changes", () => {
  test.each([
    { title: "contain the first change", before: [], rules: { pods: [10, 60] }, wants: [5] },
    {
      title: "contain no change older than every policy's period",
      before: [[7, 61]],
      rules: { pods: [10, 60] },
      wants: [5],
    },
    {
      title: "contain the changes within a policy's period",
      before: [[7, 58]],
      rules: { pods: [10, 60] },
      wants: [7, 5],
    },
    {
      title: "lose only the changes that are too old",
      before: [
        [7, 61],
        [6, 59],
      ],
      rules: { pods: [10, 60] },
      wants: [6, 5],
    },
    {
      title: "are kept for the longer of two periods",
      before: [
        [8, 29],
        [6, 59],
        [7, 61],
        [9, 61],
      ],
      rules: { pods: [10, 60], percent: [100, 30] },
      wants: [8, 6, 5],
    },
    {
      title: "are all kept while they are recent",
      before: [
        [7, 58],
        [6, 59],
      ],
      rules: { pods: [10, 120], percent: [100, 30] },
      wants: [7, 6, 5],
    },
  ] as const)("$title", ({ before, rules, wants }) => {
    const past = before.map(([by, ago]) => ({ by, at: NOW - ago * 1000 }))
    const both = { up: rulesOf(rules), down: rulesOf(rules) }
    const up = rememberChange({ ...NO_HISTORY, scaleUps: past }, { from: 10, to: 15, now: NOW }, both)
    const down = rememberChange({ ...NO_HISTORY, scaleDowns: past }, { from: 10, to: 5, now: NOW }, both)
    expect(up.scaleUps.map(({ by }) => by)).toEqual([...wants])
    expect(down.scaleDowns.map(({ by }) => by)).toEqual([...wants])
  })
})
