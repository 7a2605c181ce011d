import { describe, expect, test } from "bun:test"
import { limitedByRules, NO_HISTORY } from "./limits.ts"
import { NOW, type Policies, rulesOf } from "./limits.fixtures.ts"

/** The default policies of a direction that spec.behavior leaves out: amount and period in seconds. */
const USUAL_UP = { pods: [4, 15], percent: [100, 15] } as const
const USUAL_DOWN = { percent: [100, 15] } as const

/** Changes that are spread evenly over the last `seconds`, each in the middle of its part. */
const changes = (by: readonly number[], seconds = 120) =>
  by.map((count, index) => ({ by: count, at: NOW - (1 - (index + 0.5) / by.length) * seconds * 1000 }))

interface RuleRow {
  readonly title: string
  readonly now: number
  readonly to: number
  readonly bounds: readonly [number, number]
  readonly up?: Policies
  readonly down?: Policies
  readonly ups?: readonly number[]
  readonly downs?: readonly number[]
  readonly wants: string
}
const WIDE = [1, 1000] as const

describe("the rules of an autoscaler", () => {
  test.each<RuleRow>([
    { title: "allow a change within all bounds", now: 5, to: 7, bounds: [3, 8], wants: "7 DesiredWithinRange" },
    { title: "do not go below minReplicas", now: 3, to: 1, bounds: [2, 8], wants: "2 TooFewReplicas" },
    { title: "allow 0 replicas when minReplicas is 0", now: 1, to: 0, bounds: [0, 10], wants: "0 DesiredWithinRange" },
    {
      title: "reduce to maxReplicas when there are more",
      now: 20,
      to: 1000,
      bounds: [1, 10],
      wants: "10 TooManyReplicas",
    },
    {
      title: "stop at maxReplicas before the rate does",
      now: 100,
      to: 1000,
      bounds: [100, 150],
      wants: "150 TooManyReplicas",
    },
    {
      title: "round one percent up to one pod",
      now: 3,
      to: 1000,
      bounds: [1, 2000],
      up: { percent: [1, 60] },
      wants: "4 ScaleUpLimit",
    },
    {
      title: "remove twenty pods a minute",
      now: 1000,
      to: 3,
      bounds: [3, 2000],
      down: { pods: [20, 60] },
      wants: "980 ScaleDownLimit",
    },
    { title: "double the replicas by default", now: 10, to: 50, bounds: WIDE, wants: "20 ScaleUpLimit" },
    {
      title: "scale up by the larger of two policies, the one of pods",
      now: 10,
      to: 500,
      bounds: WIDE,
      up: { pods: [100, 60], percent: [100, 60] },
      wants: "110 ScaleUpLimit",
    },
    {
      title: "scale up by the larger of two policies, the one of percent",
      now: 10,
      to: 500,
      bounds: WIDE,
      up: { pods: [2, 60], percent: [100, 60] },
      wants: "20 ScaleUpLimit",
    },
    {
      title: "scale up by the smaller of two policies with selectPolicy Min",
      now: 1,
      to: 500,
      bounds: WIDE,
      up: { pods: [2, 60], percent: [50, 60], select: "Min" },
      wants: "2 ScaleUpLimit",
    },
    {
      title: "do not add more pods than recommended",
      now: 10,
      to: 50,
      bounds: WIDE,
      up: { pods: [100, 60] },
      wants: "50 DesiredWithinRange",
    },
    {
      title: "scale up by a number of pods",
      now: 10,
      to: 50,
      bounds: WIDE,
      up: { pods: [30, 60] },
      wants: "40 ScaleUpLimit",
    },
    {
      title: "scale up by a percentage",
      now: 10,
      to: 50,
      bounds: WIDE,
      up: { percent: [200, 60] },
      wants: "30 ScaleUpLimit",
    },
    {
      title: "do not scale up with selectPolicy Disabled",
      now: 10,
      to: 50,
      bounds: WIDE,
      up: { ...USUAL_UP, select: "Disabled" },
      wants: "10 ScaleUpLimit",
    },
    {
      title: "scale down by the larger of two policies, the one of pods",
      now: 100,
      to: 2,
      bounds: WIDE,
      down: { pods: [20, 60], percent: [1, 60] },
      wants: "80 ScaleDownLimit",
    },
    {
      title: "scale down by the larger of two policies",
      now: 100,
      to: 2,
      bounds: WIDE,
      down: { pods: [2, 60], percent: [1, 60] },
      wants: "98 ScaleDownLimit",
    },
    {
      title: "scale down by the smaller of two policies with selectPolicy Min",
      now: 5,
      to: 1,
      bounds: WIDE,
      down: { pods: [2, 60], percent: [50, 60], select: "Min" },
      wants: "3 ScaleDownLimit",
    },
    {
      title: "scale down to one replica at least by default",
      now: 10,
      to: 0,
      bounds: WIDE,
      down: { pods: [100, 60] },
      wants: "1 TooFewReplicas",
    },
    {
      title: "scale down to minReplicas",
      now: 10,
      to: 2,
      bounds: [5, 1000],
      down: { percent: [100, 60] },
      wants: "5 TooFewReplicas",
    },
    {
      title: "scale down by a number of pods",
      now: 10,
      to: 2,
      bounds: WIDE,
      down: { pods: [5, 60] },
      wants: "5 ScaleDownLimit",
    },
    {
      title: "scale down by a percentage",
      now: 10,
      to: 5,
      bounds: WIDE,
      down: { percent: [50, 60] },
      wants: "5 DesiredWithinRange",
    },
    {
      title: "do not scale down with selectPolicy Disabled",
      now: 10,
      to: 5,
      bounds: WIDE,
      down: { ...USUAL_DOWN, select: "Disabled" },
      wants: "10 ScaleDownLimit",
    },
    {
      title: "scale up to maxReplicas after earlier additions",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: [1, 200],
      up: { pods: [300, 60] },
      wants: "200 TooManyReplicas",
    },
    {
      title: "scale up to maxReplicas by percent after earlier additions",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: [1, 200],
      up: { percent: [10_000, 60] },
      wants: "200 TooManyReplicas",
    },
    {
      title: "do not scale up when the period's limit is used up",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: WIDE,
      up: { pods: [5, 120] },
      wants: "100 ScaleUpLimit",
    },
    {
      title: "count pods from the start of the period when scaling up",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: WIDE,
      up: { pods: [150, 120] },
      wants: "235 ScaleUpLimit",
    },
    {
      title: "count percent from the start of the period when scaling up",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: WIDE,
      up: { percent: [200, 120] },
      wants: "255 ScaleUpLimit",
    },
    {
      title: "scale up after earlier additions and removals",
      ups: [4],
      downs: [2],
      now: 6,
      to: 24,
      bounds: WIDE,
      up: { percent: [300, 300] },
      wants: "16 ScaleUpLimit",
    },
    {
      title: "scale down by default after earlier removals",
      downs: [1, 5, 9],
      now: 10,
      to: 5,
      bounds: WIDE,
      wants: "5 DesiredWithinRange",
    },
    {
      title: "scale down to one replica after earlier removals",
      downs: [1, 5, 9],
      now: 100,
      to: 0,
      bounds: WIDE,
      down: { pods: [115, 120] },
      wants: "1 TooFewReplicas",
    },
    {
      title: "scale down to minReplicas after earlier removals",
      downs: [1, 5, 9],
      now: 100,
      to: 0,
      bounds: [5, 1000],
      down: { pods: [130, 120] },
      wants: "5 TooFewReplicas",
    },
    {
      title: "remove all pods that are allowed after earlier removals",
      downs: [1, 5, 9],
      now: 100,
      to: 2,
      bounds: [5, 1000],
      down: { percent: [100, 120] },
      wants: "5 TooFewReplicas",
    },
    {
      title: "do not scale down when the period's limit is used up",
      downs: [1, 5, 9],
      now: 100,
      to: 2,
      bounds: WIDE,
      down: { pods: [5, 120] },
      wants: "100 ScaleDownLimit",
    },
    {
      title: "count percent from the start of the period when scaling down",
      downs: [2, 4, 6],
      now: 100,
      to: 0,
      bounds: WIDE,
      down: { percent: [50, 120] },
      wants: "56 ScaleDownLimit",
    },
    {
      title: "scale down after earlier additions and removals",
      ups: [2],
      downs: [4],
      now: 10,
      to: 1,
      bounds: WIDE,
      down: { percent: [50, 180] },
      wants: "6 ScaleDownLimit",
    },
    {
      title: "do not scale down when the period began with many more replicas",
      downs: [10, 10, 10],
      now: 100,
      to: 0,
      bounds: WIDE,
      down: { percent: [10, 120] },
      wants: "100 ScaleDownLimit",
    },
    {
      title: "allow a policy to remove more pods than there are",
      downs: [10, 10, 10],
      now: 10,
      to: 5,
      bounds: WIDE,
      down: { percent: [1000, 120] },
      wants: "5 DesiredWithinRange",
    },
    {
      title: "scale up with two periods, of which the one of pods is longer",
      ups: [8, 12, 9, 11],
      now: 100,
      to: 200,
      bounds: WIDE,
      up: { pods: [1000, 120], percent: [100, 60] },
      wants: "200 DesiredWithinRange",
    },
    {
      title: "scale up with two periods, of which the one of percent is longer",
      ups: [8, 12, 9, 11],
      now: 100,
      to: 300,
      bounds: WIDE,
      up: { pods: [50, 30], percent: [100, 60] },
      wants: "160 ScaleUpLimit",
    },
    {
      title: "scale down with two periods",
      downs: [8, 12, 9, 11],
      now: 100,
      to: 5,
      bounds: WIDE,
      down: { pods: [60, 120], percent: [10, 60] },
      wants: "80 ScaleDownLimit",
    },
  ])("$title", ({ now, to, bounds: [least, most], up = USUAL_UP, down = USUAL_DOWN, ups = [], downs = [], wants }) => {
    const history = { ...NO_HISTORY, scaleUps: changes(ups), scaleDowns: changes(downs) }
    const recommendation = { current: now, desired: to, least, most, now: NOW }
    const { replicas, reason } = limitedByRules(history, recommendation, { up: rulesOf(up), down: rulesOf(down) })
    expect(`${replicas} ${reason}`).toBe(wants)
  })
})
