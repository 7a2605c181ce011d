import { expect, test } from "bun:test"
import { SharedValues } from "./shared-values.ts"

test("equal values of one group are the same object, while the group is among the most recently used", () => {
  // given as many groups as are kept, of which the first is used again
  const shared: object[] = []
  const values = new SharedValues<{ readonly n: number }>((value) => shared.push(value))
  const first = Array.from({ length: 128 }, (_, n) => values.of({ n }, `group-${n}`))
  expect(values.of({ n: 0 }, "group-0")).toBe(first[0]!)
  expect(shared).toEqual([first[0]!])
  // when another group comes
  values.of({ n: 128 }, "group-128")
  // then the one used longest ago is forgotten, and a value that differs takes the place of the last
  expect(values.of({ n: 0 }, "group-0")).toBe(first[0]!)
  expect(values.of({ n: 1 }, "group-1")).not.toBe(first[1]!)
  const other = values.of({ n: 7 }, "group-0")
  expect(values.of({ n: 7 }, "group-0")).toBe(other)
})

test("large values are neither kept nor shared", () => {
  const values = new SharedValues<{ readonly text: string }>(() => undefined)
  const text = "x".repeat(70_000)
  const one = values.of({ text }, "a")
  expect(values.of({ text }, "a")).not.toBe(one)
})
