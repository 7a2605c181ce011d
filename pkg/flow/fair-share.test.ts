import { describe, expect, test } from "bun:test"
import { FairShare } from "./fair-share.ts"

/** Takes as many places as it gets. */
function takeAll(share: FairShare, user: string): number {
  let count = 0
  while (share.take(user)) count++
  return count
}

describe("places shared among users", () => {
  test.each<{ readonly places: number; readonly each: readonly number[] }>([
    { places: 1, each: [1] },
    { places: 2, each: [2] },
    { places: 200, each: [150] },
    { places: 200, each: [150, 38] },
    { places: 200, each: [150, 38, 9, 3] },
  ])("of $places places greedy users get $each, one after the other", ({ places, each }) => {
    const share = new FairShare(places)
    expect(each.map((_, i) => takeAll(share, `user-${i}`))).toEqual([...each])
  })

  test("a second greedy user gets as many places as the first when places become free", () => {
    // given a user with all that it can get
    const share = new FairShare(200)
    let [first, second] = [takeAll(share, "first"), 0]

    // when its requests end one by one, and both ask for every place that comes free
    for (let i = 0; i < 2000; i++) {
      share.giveBack("first")
      first--
      if (share.take("second")) second++
      if (share.take("first")) first++
    }

    // then
    expect(Math.abs(first - second)).toBeLessThan(5)
    expect(share.take("third")).toBe(true)
  })

  test("released places can be taken again, and users without places use no memory", () => {
    const share = new FairShare(4)
    for (let round = 0; round < 3; round++) {
      expect(takeAll(share, "a")).toBe(3)
      share.giveBack("a", 3)
    }
    expect(share.take("a", 4)).toBe(true)
    expect(share.take("b")).toBe(false)
  })

  test("without a limit every user gets a place", () => {
    const share = new FairShare(0)
    expect(Array.from({ length: 1000 }, () => share.take("a")).every(Boolean)).toBe(true)
  })
})
