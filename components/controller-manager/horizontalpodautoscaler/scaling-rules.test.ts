import { describe, expect, test } from "bun:test"
import { limitedByRules, NO_HISTORY } from "./limits.ts"
import { NOW, type Policies, rulesOf } from "./limits.fixtures.ts"

/** What the API gives an autoscaler whose behaviour says nothing of a direction. */
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
    { title: "nothing in the way", now: 5, to: 7, bounds: [3, 8], wants: "7 DesiredWithinRange" },
    { title: "the least", now: 3, to: 1, bounds: [2, 8], wants: "2 TooFewReplicas" },
    { title: "to zero", now: 1, to: 0, bounds: [0, 10], wants: "0 DesiredWithinRange" },
    { title: "already above the most", now: 20, to: 1000, bounds: [1, 10], wants: "10 TooManyReplicas" },
    { title: "the most, below the rate", now: 100, to: 1000, bounds: [100, 150], wants: "150 TooManyReplicas" },
    {
      title: "one percent is at least one pod",
      now: 3,
      to: 1000,
      bounds: [1, 2000],
      up: { percent: [1, 60] },
      wants: "4 ScaleUpLimit",
    },
    {
      title: "twenty pods fewer",
      now: 1000,
      to: 3,
      bounds: [3, 2000],
      down: { pods: [20, 60] },
      wants: "980 ScaleDownLimit",
    },
    { title: "up by default: twice", now: 10, to: 50, bounds: WIDE, wants: "20 ScaleUpLimit" },
    {
      title: "up by the larger of two, of pods",
      now: 10,
      to: 500,
      bounds: WIDE,
      up: { pods: [100, 60], percent: [100, 60] },
      wants: "110 ScaleUpLimit",
    },
    {
      title: "up by the larger of two, of percent",
      now: 10,
      to: 500,
      bounds: WIDE,
      up: { pods: [2, 60], percent: [100, 60] },
      wants: "20 ScaleUpLimit",
    },
    {
      title: "up by the smaller of two",
      now: 1,
      to: 500,
      bounds: WIDE,
      up: { pods: [2, 60], percent: [50, 60], select: "Min" },
      wants: "2 ScaleUpLimit",
    },
    {
      title: "up by more pods than are wanted",
      now: 10,
      to: 50,
      bounds: WIDE,
      up: { pods: [100, 60] },
      wants: "50 DesiredWithinRange",
    },
    { title: "up by pods", now: 10, to: 50, bounds: WIDE, up: { pods: [30, 60] }, wants: "40 ScaleUpLimit" },
    { title: "up by percent", now: 10, to: 50, bounds: WIDE, up: { percent: [200, 60] }, wants: "30 ScaleUpLimit" },
    {
      title: "never up",
      now: 10,
      to: 50,
      bounds: WIDE,
      up: { ...USUAL_UP, select: "Disabled" },
      wants: "10 ScaleUpLimit",
    },
    {
      title: "down by the larger of two, of pods",
      now: 100,
      to: 2,
      bounds: WIDE,
      down: { pods: [20, 60], percent: [1, 60] },
      wants: "80 ScaleDownLimit",
    },
    {
      title: "down by the larger of two",
      now: 100,
      to: 2,
      bounds: WIDE,
      down: { pods: [2, 60], percent: [1, 60] },
      wants: "98 ScaleDownLimit",
    },
    {
      title: "down by the smaller of two",
      now: 5,
      to: 1,
      bounds: WIDE,
      down: { pods: [2, 60], percent: [50, 60], select: "Min" },
      wants: "3 ScaleDownLimit",
    },
    { title: "down to the least", now: 10, to: 0, bounds: WIDE, down: { pods: [100, 60] }, wants: "1 TooFewReplicas" },
    {
      title: "down to a least of its own",
      now: 10,
      to: 2,
      bounds: [5, 1000],
      down: { percent: [100, 60] },
      wants: "5 TooFewReplicas",
    },
    { title: "down by pods", now: 10, to: 2, bounds: WIDE, down: { pods: [5, 60] }, wants: "5 ScaleDownLimit" },
    {
      title: "down by percent",
      now: 10,
      to: 5,
      bounds: WIDE,
      down: { percent: [50, 60] },
      wants: "5 DesiredWithinRange",
    },
    {
      title: "never down",
      now: 10,
      to: 5,
      bounds: WIDE,
      down: { ...USUAL_DOWN, select: "Disabled" },
      wants: "10 ScaleDownLimit",
    },
    {
      title: "up to the most, after ups",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: [1, 200],
      up: { pods: [300, 60] },
      wants: "200 TooManyReplicas",
    },
    {
      title: "up to the most by percent, after ups",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: [1, 200],
      up: { percent: [10_000, 60] },
      wants: "200 TooManyReplicas",
    },
    {
      title: "not up, where too much has been in the period",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: WIDE,
      up: { pods: [5, 120] },
      wants: "100 ScaleUpLimit",
    },
    {
      title: "up by pods from the start of the period",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: WIDE,
      up: { pods: [150, 120] },
      wants: "235 ScaleUpLimit",
    },
    {
      title: "up by percent from the start of the period",
      ups: [1, 5, 9],
      now: 100,
      to: 500,
      bounds: WIDE,
      up: { percent: [200, 120] },
      wants: "255 ScaleUpLimit",
    },
    {
      title: "up, after ups and downs",
      ups: [4],
      downs: [2],
      now: 6,
      to: 24,
      bounds: WIDE,
      up: { percent: [300, 300] },
      wants: "16 ScaleUpLimit",
    },
    {
      title: "down by default, after downs",
      downs: [1, 5, 9],
      now: 10,
      to: 5,
      bounds: WIDE,
      wants: "5 DesiredWithinRange",
    },
    {
      title: "down to the least, after downs",
      downs: [1, 5, 9],
      now: 100,
      to: 0,
      bounds: WIDE,
      down: { pods: [115, 120] },
      wants: "1 TooFewReplicas",
    },
    {
      title: "down to a least of its own, after downs",
      downs: [1, 5, 9],
      now: 100,
      to: 0,
      bounds: [5, 1000],
      down: { pods: [130, 120] },
      wants: "5 TooFewReplicas",
    },
    {
      title: "down by all, after downs",
      downs: [1, 5, 9],
      now: 100,
      to: 2,
      bounds: [5, 1000],
      down: { percent: [100, 120] },
      wants: "5 TooFewReplicas",
    },
    {
      title: "not down, where too much has been in the period",
      downs: [1, 5, 9],
      now: 100,
      to: 2,
      bounds: WIDE,
      down: { pods: [5, 120] },
      wants: "100 ScaleDownLimit",
    },
    {
      title: "down by percent from the start of the period",
      downs: [2, 4, 6],
      now: 100,
      to: 0,
      bounds: WIDE,
      down: { percent: [50, 120] },
      wants: "56 ScaleDownLimit",
    },
    {
      title: "down, after ups and downs",
      ups: [2],
      downs: [4],
      now: 10,
      to: 1,
      bounds: WIDE,
      down: { percent: [50, 180] },
      wants: "6 ScaleDownLimit",
    },
    {
      title: "not down, where the start of the period was far above",
      downs: [10, 10, 10],
      now: 100,
      to: 0,
      bounds: WIDE,
      down: { percent: [10, 120] },
      wants: "100 ScaleDownLimit",
    },
    {
      title: "down by more than all",
      downs: [10, 10, 10],
      now: 10,
      to: 5,
      bounds: WIDE,
      down: { percent: [1000, 120] },
      wants: "5 DesiredWithinRange",
    },
    {
      title: "up with two periods, the longer of pods",
      ups: [8, 12, 9, 11],
      now: 100,
      to: 200,
      bounds: WIDE,
      up: { pods: [1000, 120], percent: [100, 60] },
      wants: "200 DesiredWithinRange",
    },
    {
      title: "up with two periods, the longer of percent",
      ups: [8, 12, 9, 11],
      now: 100,
      to: 300,
      bounds: WIDE,
      up: { pods: [50, 30], percent: [100, 60] },
      wants: "160 ScaleUpLimit",
    },
    {
      title: "down with two periods",
      downs: [8, 12, 9, 11],
      now: 100,
      to: 5,
      bounds: WIDE,
      down: { pods: [60, 120], percent: [10, 60] },
      wants: "80 ScaleDownLimit",
    },
  ])("$title", ({ now, to, bounds: [least, most], up = USUAL_UP, down = USUAL_DOWN, ups = [], downs = [], wants }) => {
    const history = { ...NO_HISTORY, scaleUps: changes(ups), scaleDowns: changes(downs) }
    const wish = { current: now, desired: to, least, most, now: NOW }
    const { replicas, reason } = limitedByRules(history, wish, { up: rulesOf(up), down: rulesOf(down) })
    expect(`${replicas} ${reason}`).toBe(wants)
  })
})
