import { expect, test } from "bun:test"
import { largest, smallest } from "./extremes.ts"
import { pushAll } from "./push-all.ts"

const LONG = Array.from({ length: 200_000 }, (_, i) => i)

test("lists of any length are appended, in their order", () => {
  const into = [-1]
  pushAll(into, LONG, [], new Set([7]))
  expect([into.length, into[0], into[1], into.at(-2), into.at(-1)]).toEqual([200_002, -1, 0, 199_999, 7])
})

test("the extremes of lists of any length are found, as Math.max and Math.min do", () => {
  expect([largest(LONG), smallest(LONG)]).toEqual([199_999, 0])
  expect([largest([]), smallest([])]).toEqual([Math.max(), Math.min()])
  expect([largest([1, NaN, 2]), smallest([1, NaN, 2])]).toEqual([NaN, NaN])
})
