import { expect, test } from "bun:test"
import { allByName, byName } from "./by-name.ts"

test.each([3, 100])("of %i items those with a name are found, in their order, however often", (count) => {
  // given a list with one name twice
  const list = [...Array.from({ length: count }, (_, i) => ({ name: `n${i}`, i })), { name: "n1", i: -1 }]
  for (let round = 0; round < 20; round++) {
    // when, then
    expect(byName(list, "n1")).toEqual({ name: "n1", i: 1 })
    expect(allByName(list, "n1").map(({ i }) => i)).toEqual([1, -1])
    expect(byName(list, "none")).toBeUndefined()
    expect(allByName(list, "none")).toEqual([])
  }
  expect(byName(undefined, "n1")).toBeUndefined()
})

test("a search for each of thousands of names reads each item a few times", () => {
  // given
  let reads = 0
  const list = Array.from({ length: 3000 }, (_, i) => ({
    get name() {
      reads++
      return `n${i}`
    },
  }))
  // when
  for (let i = 0; i < 3000; i++) byName(list, `n${i}`)
  // then
  expect(reads).toBeLessThan(list.length * 10)
})
