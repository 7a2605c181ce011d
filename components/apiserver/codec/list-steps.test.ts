import { expect, test } from "bun:test"
import { writeYaml } from "../../../pkg/yaml/write.ts"
import { encodingList } from "./list-steps.ts"

const HEAD = { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: "7", continue: undefined } }
const itemOf = (i: number) => ({
  metadata: { name: `näme-${i}`, labels: {}, finalizers: [] },
  data: { text: `first\nsecond "${i}"`, "key.10": "1", "key.9": "yes", emoji: "😀 ".repeat(40) },
})

/** Takes all steps; returns how many there were, the most items that one made, and the text. */
function taken(encoding: Generator<Uint8Array, Uint8Array, undefined>, made: () => number) {
  let [steps, most, before] = [0, 0, 0]
  const pieces: Uint8Array[] = []
  for (;;) {
    const { done, value } = encoding.next()
    pieces.push(value)
    steps++
    most = Math.max(most, made() - before)
    before = made()
    if (done === true) return { steps, most, text: Buffer.concat(pieces).toString() }
  }
}

test.each([0, 1, 2, 25, 26, 300])(
  "a list of %d items as YAML and as indented JSON is the text of the whole",
  (count) => {
    // given
    const items = Array.from({ length: count }, (_, i) => i)
    const whole = { ...HEAD, items: items.map(itemOf) }
    let made = 0
    const counted = (i: number) => (made++, itemOf(i))

    for (const [form, text] of [
      ["yaml", writeYaml(whole)],
      ["indented", `${JSON.stringify(whole, undefined, 2)}\n`],
    ] as const) {
      // when
      made = 0
      const result = taken(encodingList(form, { head: HEAD, field: "items", items, itemOf: counted }), () => made)

      // then few items are made in each step
      expect(result.text).toBe(text)
      expect(result.most).toBeLessThanOrEqual(25)
      expect(result.steps).toBeGreaterThanOrEqual(Math.ceil(count / 25))
    }
  },
)

const TABLE = { kind: "Table", metadata: { resourceVersion: "7" } }

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
  const encoding = encodingList("json", { head: TABLE, field: "rows", items, itemOf: (i) => (made++, rowOf(i)) })
  // when
  let taken = 1
  let step = encoding.next()
  const pieces = [step.value]
  while (step.done !== true) {
    expect(made).toBe(100 * taken++)
    step = encoding.next()
    pieces.push(step.value)
  }
  // then
  expect(taken).toBe(steps)
  expect(Buffer.concat(pieces).toString()).toBe(JSON.stringify({ ...TABLE, rows: items.map(rowOf) }))
})

test("large items are encoded one in a step", () => {
  const items = Array.from({ length: 4 }, () => "x".repeat(300_000))
  let made = 0
  const list = { head: TABLE, field: "rows", items, itemOf: (text: string) => (made++, { text }) } as const
  const { steps, most, text } = taken(encodingList("json", list), () => made)
  expect({ steps, most }).toEqual({ steps: 4, most: 1 })
  expect(text).toBe(JSON.stringify({ ...TABLE, rows: items.map((each) => ({ text: each })) }))
})
