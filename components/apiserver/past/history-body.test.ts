import { expect, test } from "bun:test"
import type { LogPage } from "../../../pkg/history/entry.ts"
import { historyBody } from "./history-body.ts"

const page: Omit<LogPage, "entries"> = { begins: 3, revision: 90, more: true }
const entriesOf = (count: number, size: number) =>
  Array.from({ length: count }, (_, i) => ({
    revision: i,
    object: { text: `"\n${"ü".repeat(size)}`, none: {}, list: [1] },
  }))

const piecesOf = (entries: readonly object[], indented: boolean) => [
  ...historyBody(
    page,
    entries.map((entry) => JSON.stringify(entry)),
    { indented },
  ).pieces(),
]

test.each([0, 1, 3])("a history of %i entries is the JSON of the whole, indented or not", (count) => {
  const entries = entriesOf(count, 3)
  const text = (indented: boolean) => Buffer.concat(piecesOf(entries, indented)).toString()
  expect(text(false)).toBe(`${JSON.stringify({ ...page, entries })}\n`)
  expect(text(true)).toBe(`${JSON.stringify({ ...page, entries }, undefined, 2)}\n`)
})

test.each([true, false])(
  "no piece of a large history is much larger than 256 Ki characters (indented: %p)",
  (indented) => {
    // given 16 MB of entries, of which none is large
    const pieces = piecesOf(entriesOf(1600, 10_000), indented)
    // then each turn that makes a piece makes so much at most
    const longest = pieces.reduce((most, piece) => Math.max(most, piece.toString().length), 0)
    expect(longest).toBeLessThan(300 * 1024)
    expect(pieces.length).toBeGreaterThan(50)
  },
)
