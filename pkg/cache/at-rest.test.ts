import { expect, test } from "bun:test"
import { fullGC } from "bun:jsc"
import { clearedAtRest, clearCachesAtRest } from "./at-rest.ts"
import { RecentTexts } from "./recent-texts.ts"
import { SharedParts } from "./shared-parts.ts"

test("what the caches remember is forgotten at rest, and they remember again afterwards", () => {
  // given a cache of each kind
  const known = clearedAtRest(new Map([["a", 1]]))
  const parts = new SharedParts()
  const texts = new RecentTexts()
  const status = parts.of({ phase: "Running" }, "web")
  expect(parts.of({ phase: "Running" }, "web")).toBe(status)
  texts.of("default/web")
  // when
  clearCachesAtRest()
  // then
  expect(known.size).toBe(0)
  const later = parts.of({ phase: "Running" }, "web")
  expect(later).not.toBe(status)
  expect(parts.of({ phase: "Running" }, "web")).toBe(later)
  expect(texts.of("default/web")).toBe("default/web")
})

test("a cache that nobody uses any more is not kept for being cleared", async () => {
  // given
  const cleared: number[] = []
  const make = (number: number) => void clearedAtRest({ clear: () => void cleared.push(number), lots: Array(1000) })
  for (let number = 0; number < 100; number++) make(number)
  // when they are garbage: a collection in another turn, since a reference that was just made is kept for its turn
  await Bun.sleep(0)
  fullGC()
  // then
  clearCachesAtRest()
  expect(cleared.length).toBeLessThan(10)
})
