import { describe, expect, test } from "bun:test"
import { countOf, firstFree, formatIndexes, hasIndex, overlap, parseIndexes, union, withIndexes } from "./indexes.ts"

describe("completion indexes", () => {
  test.each([
    ["", 10, ""],
    ["1,3-5,7", 10, "1,3-5,7"],
    ["1,2", 10, "1,2"],
    ["1,2,3", 10, "1-3"],
    ["1-4,9", 4, "1-3"],
    ["x,2,5-a", 10, "2"],
    ["7", 5, ""],
  ])("%p of %p are parsed as %p", (text, completions, expected) => {
    expect(formatIndexes(parseIndexes(text, completions))).toBe(expected)
  })

  test("merge adjacent ranges", () => {
    const indexes = withIndexes(parseIndexes("0-2,6", 10), [3, 5, 9, 5])
    expect(formatIndexes(indexes)).toBe("0-3,5,6,9")
    expect(countOf(indexes)).toBe(7)
    expect([hasIndex(indexes, 6), hasIndex(indexes, 4)]).toEqual([true, false])
    expect(formatIndexes(union(indexes, parseIndexes("4,8", 10)))).toBe("0-6,8,9")
    expect(overlap(indexes, parseIndexes("2-5", 10))).toBe(3)
  })

  test("of tens of thousands of ranges are found and counted without comparing each with each", () => {
    // given every second index of 200,000, and a range of 2,147,483,647
    const second = parseIndexes(Array.from({ length: 100_000 }, (_, i) => 2 * i).join(","), 200_000)
    const shifted = parseIndexes(Array.from({ length: 100_000 }, (_, i) => 2 * i + (i % 2)).join(","), 200_000)
    const whole = parseIndexes("0-2147483646", 2_147_483_647)
    // then
    expect([overlap(second, shifted), overlap(second, whole), countOf(whole)]).toEqual([50_000, 100_000, 2_147_483_647])
    let found = 0
    for (let index = 0; index < 200_000; index++) if (hasIndex(second, index)) found++
    expect(found).toBe(100_000)
    expect(firstFree(whole, 3, 2_147_483_647)).toEqual([])
    expect(firstFree(second, 3, 2_147_483_647)).toEqual([1, 3, 5])
  })

  test.each([
    ["", 3, 5, [0, 1, 2]],
    ["0-2", 3, 5, [3, 4]],
    ["1,3", 2, 5, [0, 2]],
    ["0-4", 1, 5, []],
  ])("not in %p: the first %p below %p are found", (taken, count, completions, expected) => {
    expect(firstFree(parseIndexes(taken, completions), count, completions)).toEqual(expected)
  })
})
