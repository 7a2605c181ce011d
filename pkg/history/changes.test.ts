import { expect, test } from "bun:test"
import { changesBetween } from "./changes.ts"

test("a path ends where it is long, so that many fields below a long name do not repeat it", () => {
  // given an object with a thousand fields below a name of 100,000 characters
  const long = "x".repeat(100_000)
  const fields = (value: number) =>
    Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`f${i}`, value] as const))
  // when all of them change
  const changes = changesBetween({ [long]: fields(1) }, { [long]: fields(2) })
  // then that is one change
  expect(changes.map(({ path, before, after }) => ({ path, before, after }))).toEqual([
    { path: long, before: fields(1), after: fields(2) },
  ])
})
