import { expect, test } from "bun:test"
import { RecentGroups } from "./per-node.ts"

test("the values of the groups that were used last are kept, but none of a text that is as long as a pod may be", () => {
  // given
  let made = 0
  const groups = new RecentGroups<number>()
  const isMade = (text: string): boolean => {
    const before = made
    groups.of(text, () => ++made)
    return made > before
  }
  const long = "x".repeat(65_537)
  // then
  expect(["a", "a", long, long].map(isMade)).toEqual([true, false, true, true])
  // when 31 others are used, and then one more
  for (let i = 0; i < 31; i++) isMade(`other ${i}`)
  expect(isMade("a")).toBe(false)
  isMade("one more")
  // then the one that was used longest ago is forgotten
  expect(["a", "other 1", "other 0"].map(isMade)).toEqual([false, false, true])
})
