import { expect, test } from "bun:test"
import { goSort } from "./go-sort.ts"

/** Keys of which many are equal, so that only Go's own algorithm gives Go's order. */
const KEYS = Array.from({ length: 60 }, (_, i) => (i * i * 7) % 5)

/** Returns the places from which Go's sort.Sort took the elements. */
const orderOf = (keys: readonly number[]): readonly number[] => {
  const places = keys.map((_, i) => i)
  goSort(places, (a, b) => keys[a]! < keys[b]!)
  return places
}

test.each([
  { length: 12, order: [0, 5, 10, 1, 4, 6, 9, 11, 2, 3, 7, 8] },
  { length: 13, order: [5, 10, 0, 9, 4, 6, 1, 11, 3, 7, 8, 2, 12] },
  {
    length: 30,
    order: [
      10, 25, 0, 20, 15, 5, 21, 19, 29, 9, 6, 11, 26, 1, 14, 4, 16, 24, 17, 18, 3, 2, 22, 23, 7, 13, 12, 27, 28, 8,
    ],
  },
  {
    length: 60,
    order: [
      15, 55, 50, 45, 40, 5, 35, 30, 0, 25, 10, 20, 29, 6, 14, 59, 16, 56, 1, 19, 11, 21, 54, 51, 24, 9, 26, 49, 46, 44,
      41, 31, 4, 39, 34, 36, 48, 42, 38, 33, 32, 7, 47, 43, 8, 3, 37, 28, 52, 27, 2, 23, 13, 53, 22, 18, 17, 57, 58, 12,
    ],
  },
])("$length elements with equal keys come in Go's order", ({ length, order }) => {
  expect(orderOf(KEYS.slice(0, length))).toEqual(order)
})

test("long lists are sorted, whatever their pattern", () => {
  for (const pattern of [(i: number) => i, (i: number) => -i, (i: number) => i % 7, (i: number) => (i * 7919) % 1000])
    expect(orderOf(Array.from({ length: 1000 }, (_, i) => pattern(i))).map(pattern)).toEqual(
      Array.from({ length: 1000 }, (_, i) => pattern(i)).sort((a, b) => a - b),
    )
})
