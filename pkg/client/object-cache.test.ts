import { expect, test } from "bun:test"
import type { KubeObject } from "../apimachinery/resource.ts"
import type { Index } from "./informer.ts"
import { ObjectCache } from "./object-cache.ts"

type Tagged = KubeObject & { readonly tags: readonly string[] }
const byTag: Index<Tagged> = { name: "tag", of: ({ tags }) => tags }
const tagged = (name: string, tags: readonly string[]): Tagged =>
  ({ apiVersion: "v1", kind: "Node", metadata: { name }, tags }) as Tagged

test.each([
  { title: "few", count: 3 },
  { title: "many", count: 20 },
])("an object with $title values of an index is found by those that it has now", ({ count }) => {
  // given
  const cache = new ObjectCache<Tagged>()
  const numbers = Array.from({ length: count }, (_, i) => i)
  const names = (tag: number) => cache.by(byTag, `t${tag}`).map(({ metadata }) => metadata.name)
  cache.set(
    tagged(
      "a",
      numbers.map((i) => `t${i}`),
    ),
  )
  expect(names(0)).toEqual(["a"])
  // when
  cache.set(
    tagged(
      "a",
      numbers.map((i) => `t${i + 1}`),
    ),
  )
  // then
  expect([0, 1, count, count + 1].map(names)).toEqual([[], ["a"], ["a"], []])
})

test("the work for an object grows with the number of its values, such as the addresses of a Node, not with its square", () => {
  // given more values than could be compared each with each in the time of a test
  const cache = new ObjectCache<Tagged>()
  const tags = (from: number) => Array.from({ length: 60_000 }, (_, i) => `10.0.0.0/${from + i}`)
  cache.by(byTag, "")
  cache.set(tagged("a", tags(0)))
  // when
  cache.set(tagged("a", tags(1)))
  // then
  expect([0, 1, 60_000].map((i) => cache.by(byTag, `10.0.0.0/${i}`).length)).toEqual([0, 1, 1])
})
