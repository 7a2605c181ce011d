import { expect, test } from "bun:test"
import { encodingJson } from "./json-steps.ts"

const HEAD = { kind: "Table", metadata: { resourceVersion: "7" } }

test.each([
  { count: 0, steps: 1 },
  { count: 1, steps: 1 },
  { count: 100, steps: 1 },
  { count: 101, steps: 2 },
  { count: 250, steps: 3 },
])("a list of $count items is encoded in $steps steps, as JSON.stringify does it", ({ count, steps }) => {
  // given
  const items = Array.from({ length: count }, (_, i) => i)
  const rowOf = (i: number) => ({ cells: [`"näme" ${i}`, i, null], object: undefined })
  let made = 0
  const encoding = encodingJson(HEAD, "rows", items, (i) => (made++, rowOf(i)))
  // when
  let taken = 1
  let step = encoding.next()
  for (; step.done !== true; step = encoding.next()) expect(made).toBe(100 * taken++)
  // then
  expect(taken).toBe(steps)
  expect(new TextDecoder().decode(step.value)).toBe(JSON.stringify({ ...HEAD, rows: items.map(rowOf) }))
})
