import { expect, test } from "bun:test"
import { RecentValues } from "./recent-values.ts"

const objects = (count: number): readonly object[] => Array.from({ length: count }, (_, i) => ({ i }))

test("values of recently used objects are kept, and old ones are dropped", () => {
  // given more objects than are remembered
  const values = new RecentValues<object, number>()
  const all = objects(20_000)
  const used = all[0]!
  // when each gets a value, while one of them is read all the time
  for (const [i, object] of all.entries()) {
    values.set(object, i)
    values.get(used)
  }
  // then the newest and the one that is read are known, and an old one is not
  expect(values.get(all.at(-1)!)).toBe(19_999)
  expect(values.get(used)).toBe(0)
  expect(values.get(all[1]!)).toBeUndefined()
})
