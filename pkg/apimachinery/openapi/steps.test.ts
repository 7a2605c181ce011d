import { expect, test } from "bun:test"
import { atOnce, encoding } from "./steps.ts"

const many = (count: number, value: unknown): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-"${i}`, value]))

test.each([
  { title: "an empty object", document: {} },
  {
    title: "plain values",
    document: { a: 1, b: "ü\u2028", c: null, d: [1, { e: undefined, f: [] }], g: undefined },
  },
  {
    title: "many paths and definitions",
    document: { info: { title: "x" }, paths: many(200, { get: many(3, "y") }), schemas: many(60, 1) },
  },
  {
    title: "definitions one level deeper",
    document: { components: { schemas: many(99, { a: [many(40, 2)] }), none: undefined } },
  },
])("a document is encoded in steps as JSON.stringify encodes it: $title", ({ document }) => {
  const pieces: Uint8Array[] = []
  atOnce(encoding(document, (bytes) => pieces.push(bytes)))
  expect(Buffer.concat(pieces).toString()).toBe(JSON.stringify(document))
})

test("no step encodes more than some fields of a large document", () => {
  const pieces: Uint8Array[] = []
  const document = { paths: many(5000, { get: "x".repeat(100) }), components: { schemas: many(5000, "y".repeat(100)) } }
  atOnce(encoding(document, (bytes) => pieces.push(bytes)))
  expect(pieces.length).toBeGreaterThan(300)
  for (const { length } of pieces) expect(length).toBeLessThan(10_000)
})
