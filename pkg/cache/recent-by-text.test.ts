import { expect, test } from "bun:test"
import { RecentByText } from "./recent-by-text.ts"

/** How many of the keys are still known. */
const known = (cache: RecentByText<string>, keys: readonly string[]): number =>
  keys.filter((key) => cache.get(key) !== undefined).length

test("a cache holds no more entries than its bound", () => {
  const cache = new RecentByText<string>({ entries: 100, characters: 1_000_000 })
  const keys = Array.from({ length: 1000 }, (_, i) => `key ${i}`)
  for (const key of keys) cache.set(key, "x")
  expect(known(cache, keys)).toBeLessThanOrEqual(100)
})

test("a cache holds no more characters than its bound, whether keys or values are long", () => {
  const keys = Array.from({ length: 1000 }, (_, i) => `${i}${"k".repeat(1000)}`)
  const byKeys = new RecentByText<string>({ entries: 1000, characters: 50_000 })
  for (const key of keys) byKeys.set(key, "x")
  expect(known(byKeys, keys)).toBeLessThanOrEqual(50)

  const short = keys.map((_, i) => `${i}`)
  const byValues = new RecentByText<string>({ entries: 1000, characters: 50_000, weightOf: ({ length }) => length })
  for (const key of short) byValues.set(key, "v".repeat(1000))
  expect(known(byValues, short)).toBeLessThanOrEqual(50)
})

test("an entry that is too large for the cache pushes no other out", () => {
  const cache = new RecentByText<string>({ entries: 100, characters: 10_000 })
  cache.set("small", "x")
  for (let i = 0; i < 100; i++) cache.set(`${i}${"k".repeat(10_000)}`, "x")
  expect(cache.get("small")).toBe("x")
})

test("an entry that is asked for again and again stays while others come and go", () => {
  const cache = new RecentByText<string>({ entries: 10, characters: 10_000 })
  cache.set("wanted", "x")
  for (let i = 0; i < 100; i++) {
    cache.set(`other ${i}`, "y")
    expect(cache.get("wanted")).toBe("x")
  }
})

test("values that grow after they were kept count with what they have grown", () => {
  let drops = 0
  const cache = new RecentByText<string>({ entries: 10, characters: 1000, onDrop: () => drops++ })
  cache.set("a", "x")
  cache.grow(500)
  expect(drops).toBe(1)
})
