import { expect, test } from "bun:test"
import { SeatDemand } from "./seat-demand.ts"

test("a period has its highest demand, its average and its standard deviation", () => {
  // given 4 seats wanted in half of a period, and none in the other
  const demand = new SeatDemand(0)
  demand.set(4, 0)
  demand.set(0, 5000)
  // when it is over
  demand.roll(10_000)
  // then
  expect(demand.figures).toEqual({ highWatermark: 4, average: 2, deviation: 2, smoothed: 4 })
})

test("a demand at the end of a period counts for the whole of the next period", () => {
  const demand = new SeatDemand(0)
  demand.set(3, 9000)
  demand.roll(10_000)
  expect(demand.figures.highWatermark).toBe(3)
  expect(demand.figures.average).toBeCloseTo(0.3)
  demand.roll(20_000)
  expect(demand.figures).toMatchObject({ highWatermark: 3, average: 3, deviation: 0 })
})

test("smoothed demand halves in five minutes without demand, no matter how often it is read meanwhile", () => {
  // given two levels with a demand in one period
  const [watched, alone] = [new SeatDemand(0), new SeatDemand(0)]
  for (const demand of [watched, alone]) {
    demand.set(10, 0)
    demand.set(0, 10_000)
  }
  // when time goes by
  for (let now = 20_000; now <= 310_000; now += 10_000) watched.roll(now)
  alone.roll(310_000)
  // then
  expect(watched.figures.smoothed).toBeCloseTo(5, 0)
  expect(alone.figures.smoothed).toBeCloseTo(watched.figures.smoothed, 9)
  expect(alone.figures.highWatermark).toBe(0)
})

test("a level that is created within a period is measured from its creation on", () => {
  const demand = new SeatDemand(4000)
  demand.set(6, 7000)
  demand.roll(10_000)
  expect(demand.figures.average).toBe(3)
})
