import { expect, test } from "bun:test"
import { numberOf, RecentRows } from "./recent-rows.ts"

test("rows keep their numbers while others are added, until they are the ones used longest ago", () => {
  // given as many rows as are kept
  const rows = new RecentRows(20, 2)
  for (let key = 0; key < 20; key++) rows.add(key / 2).set([key, -key])
  expect(rows.get(0)).toEqual(Float64Array.of(0, -0))
  expect(rows.get(9.5)).toEqual(Float64Array.of(19, -19))
  // when one is changed, and more are added
  rows.get(4)!.set([1], 1)
  for (const key of [100, 101]) expect(rows.add(key)).toEqual(Float64Array.of(0, 0))
  // then those used longest ago are forgotten
  expect([0.5, 1].map((key) => rows.get(key))).toEqual([undefined, undefined])
  expect(rows.get(0)).toEqual(Float64Array.of(0, -0))
  expect(rows.get(4)).toEqual(Float64Array.of(8, 1))
  expect(rows.get(1.5)).toEqual(Float64Array.of(3, -3))
})

test("texts that differ in little have different numbers", () => {
  const texts = ["", "a", "b", "ab", "ba"]
  for (let i = 0; i < 200_000; i++) texts.push(`web-6f9c7b8d5-${i.toString(36)}\0Pulled`)
  const numbers = texts.map(numberOf)
  expect(new Set(numbers).size).toBe(texts.length)
  expect(numbers.every(Number.isSafeInteger)).toBe(true)
})
