import { expect, test } from "bun:test"
import { FewByKey } from "./few-by-key.ts"

interface Item {
  readonly name: string
  readonly value: number
}

test.each([3, 500])("%i items are found by their keys, replaced in place and kept in order", (count) => {
  // given
  const items = new FewByKey<Item>(({ name }) => name)
  for (let i = 0; i < count; i++) items.set({ name: `n${i}`, value: i })
  // when
  items.set({ name: "n1", value: -1 })
  // then
  expect(items.items.map(({ value }) => value)).toEqual(Array.from({ length: count }, (_, i) => (i === 1 ? -1 : i)))
  expect(items.get(`n${count - 1}`)?.value).toBe(count - 1)
  expect([items.has("n0"), items.has("other"), items.get("other")]).toEqual([true, false, undefined])
})
