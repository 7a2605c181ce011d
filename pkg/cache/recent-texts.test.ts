import { heapStats } from "bun:jsc"
import { expect, test } from "bun:test"
import { RecentTexts } from "./recent-texts.ts"

const texts = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `default/pod-${i}`)

test("a text stays what it is, however many others there are", () => {
  const recent = new RecentTexts()
  for (const text of texts(10_000)) expect(recent.of(text)).toBe(text)
  for (const text of texts(10_000)) expect(recent.of(text)).toBe(text)
  for (const text of texts(10_000)) expect(recent.copyOf(text)).toBe(text)
})

test("equal texts that are made one after the other are kept once", () => {
  // given 500 texts, each made twenty times
  const recent = new RecentTexts()
  const before = heapStats().objectTypeCounts.string ?? 0
  const kept = Array.from({ length: 20 }, () => texts(500).map((text) => recent.of(text)))
  // then the others are garbage
  Bun.gc(true)
  expect((heapStats().objectTypeCounts.string ?? 0) - before).toBeLessThan(2000)
  expect(kept).toHaveLength(20)
})
