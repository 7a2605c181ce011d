import { describe, expect, test } from "bun:test"
import { allocate, type Claim } from "./concurrency-allocation.ts"

const claim = (target: number, lowerBound: number, upperBound: number): Claim => ({ target, lowerBound, upperBound })

describe("seats are divided", () => {
  test.each<{
    readonly title: string
    readonly sum: number
    readonly claims: readonly Claim[]
    readonly wants: readonly number[] | undefined
  }>([
    { title: "in proportion to the targets", sum: 30, claims: [claim(1, 0, 99), claim(2, 0, 99)], wants: [10, 20] },
    {
      title: "so that no class gets less than its lower bound",
      sum: 12,
      claims: [claim(9, 9, 99), claim(9, 1, 99)],
      wants: [9, 3],
    },
    {
      title: "so that no class gets more than its upper bound",
      sum: 30,
      claims: [claim(9, 0, 5), claim(9, 0, 99)],
      wants: [5, 25],
    },
    {
      title: "with lower and upper bounds",
      sum: 100,
      claims: [claim(10, 10, 12), claim(10, 5, 99), claim(40, 30, 50)],
      wants: [12, 38, 50],
    },
    {
      title: "at the lower bounds when these take all seats",
      sum: 7,
      claims: [claim(5, 3, 9), claim(8, 4, 9)],
      wants: [3, 4],
    },
    {
      title: "at the upper bounds when these take all seats",
      sum: 9,
      claims: [claim(5, 1, 4), claim(8, 1, 5)],
      wants: [4, 5],
    },
    { title: "equally when all targets are equal", sum: 8, claims: [claim(0, 0, 99), claim(0, 0, 99)], wants: [4, 4] },
    { title: "so that every class gets 0 when the sum is 0", sum: 0, claims: [claim(0, 0, 9)], wants: [0] },
    { title: "not at all when the lower bounds exceed the sum", sum: 3, claims: [claim(5, 4, 9)], wants: undefined },
    {
      title: "not at all when the upper bounds are below the sum",
      sum: 30,
      claims: [claim(5, 4, 9)],
      wants: undefined,
    },
    { title: "not at all when a target is below its lower bound", sum: 5, claims: [claim(1, 4, 9)], wants: undefined },
  ])("$title", ({ sum, claims, wants }) => {
    const seats = allocate(sum, claims)?.seats
    expect(seats?.map((count) => Math.round(count * 1e6) / 1e6)).toEqual(wants === undefined ? undefined : [...wants])
  })

  test("as whole numbers, within the bounds and fairly, whatever the classes ask for", () => {
    let seed = 1
    const next = (below: number) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % below
    for (let round = 0; round < 500; round++) {
      // given claims at random and a sum between their bounds
      const claims = Array.from({ length: 1 + next(6) }, () => {
        const lower = next(20)
        return claim(lower + next(40), lower, lower + next(60))
      })
      const [low, high] = [total(claims.map((each) => each.lowerBound)), total(claims.map((each) => each.upperBound))]
      const sum = low + next(high - low + 1)
      // when
      const { seats, fairProportion } = allocate(sum, claims)!
      // then
      expect(total(seats)).toBeCloseTo(sum, 4)
      seats.forEach((count, i) => {
        const { target, lowerBound, upperBound } = claims[i]!
        expect(count).toBeGreaterThanOrEqual(lowerBound)
        expect(count).toBeLessThanOrEqual(upperBound)
        const fair = fairProportion * Math.max(target, 0.001)
        if (count > lowerBound + 1e-6 && count < upperBound - 1e-6) expect(count).toBeCloseTo(fair, 4)
      })
    }
  })
})

const total = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
