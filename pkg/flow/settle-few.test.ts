import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../clock/virtual.ts"
import { settleFew } from "./settle-few.ts"

describe("a long list that is worked on a few at once", () => {
  test("never has more in progress than it may, and gives the results in the order of the items", async () => {
    // given items that end in another order than they begin
    const clock = new VirtualClock(0)
    let [inProgress, most] = [0, 0]
    const work = async (item: number) => {
      most = Math.max(most, ++inProgress)
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 100 - item))
      inProgress--
      if (item % 10 === 3) throw new Error(`no ${item}`)
    }
    // when
    const settled = settleFew(
      Array.from({ length: 25 }, (_, i) => i),
      work,
      { atOnce: 4, inTurn: 100 },
      clock,
    )
    await clock.advance(10_000)
    // then
    const results = await settled
    expect(most).toBe(4)
    expect(results.map(({ status }) => status === "rejected")).toEqual(
      Array.from({ length: 25 }, (_, i) => i % 10 === 3),
    )
    expect(results[13]).toMatchObject({ reason: { message: "no 13" } })
  })

  test("begins only so many in one turn", async () => {
    // given a clock whose turns end when the test says so
    const turns: (() => void)[] = []
    let begun = 0
    // when
    const settled = settleFew(
      Array.from({ length: 5 }, (_, i) => i),
      async () => void begun++,
      { atOnce: 5, inTurn: 2 },
      { afterTurn: (next) => void turns.push(next) },
    )
    const seen: number[] = []
    while (begun < 5) {
      await Promise.resolve()
      await Promise.resolve()
      seen.push(begun)
      turns.shift()?.()
      await Promise.resolve()
      await Promise.resolve()
    }
    await settled
    // then
    expect(seen[0]).toBe(2)
    expect(seen.at(-1)).toBe(4)
  })
})
