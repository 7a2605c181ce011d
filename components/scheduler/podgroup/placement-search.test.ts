import { expect, test } from "bun:test"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { bestFirst } from "./placement-search.ts"

const orderOf = (placed: Readonly<Record<string, number>>, weight: number, seed = 1) =>
  bestFirst(
    Object.entries(placed).map(([domain, count]) => ({ domain, placed: count })),
    weight,
    seededRandom(seed),
  ).map(({ domain }) => domain)

test("the placement with the most pods is the best", () => {
  expect(orderOf({ a: 1, b: 3, c: 2 }, 1)).toEqual(["b", "c", "a"])
  expect(orderOf({ a: 1, b: 3, c: 2 }, 100)).toEqual(["b", "c", "a"])
})

test("the placement with the fewest pods is the best with a weight below zero", () => {
  expect(orderOf({ a: 1, b: 3, c: 2 }, -1)).toEqual(["a", "c", "b"])
})

test.each([
  ["that are equal", { a: 2, b: 2, c: 2 }, 1],
  ["that differ by less than a percent", { a: 997, b: 998, c: 999, d: 1000 }, 1],
  ["where the number of pods does not count", { a: 1, b: 2, c: 3 }, 0],
])("chance orders placements %s", (_what, placed, weight) => {
  const orders = new Set(Array.from({ length: 50 }, (_, seed) => orderOf(placed, weight, seed).join()))
  expect(orders.size).toBeGreaterThan(1)
})
