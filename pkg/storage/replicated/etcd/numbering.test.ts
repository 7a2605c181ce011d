import { expect, test } from "bun:test"
import { baseAfter, Numbering, placeOf, withPlace } from "./numbering.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

test.each([
  { title: "JSON", value: '{"a":1}' },
  { title: "an encrypted value", value: "k8s:enc:secretbox:v1:a:\n \t}" },
])("$title has the same bytes after its place in a transaction was added and read, for every place", ({ value }) => {
  for (let place = 0; place < 128; place++) {
    const written = withPlace(bytes(value), place)
    expect(placeOf(written)).toEqual({ value: bytes(value), place })
    if (value.startsWith("{")) expect(JSON.parse(new TextDecoder().decode(written))).toEqual({ a: 1 })
  }
})

test("JSON of another program has the place 0", () => {
  expect(placeOf(bytes('{"a":1}'))).toEqual({ value: bytes('{"a":1}'), place: 0 })
})

test("revisions within a transaction rise, are lower than those of the next one, and contain its revision", () => {
  const numbering = new Numbering()
  const revisions = [
    numbering.revisionOf(7, 0),
    numbering.revisionOf(7, 127),
    numbering.endOf(7),
    numbering.revisionOf(8, 0),
  ]
  expect(revisions).toEqual([7000, 7127, 7999, 8000])
  expect([7000, 7127, 7999].map((revision) => numbering.etcdRevisionOf(revision))).toEqual([7, 7, 7])
})

test("the first revision of a new etcd follows the last one of the store before it", () => {
  for (const last of [1, 999, 1000, 1_234_567]) {
    const numbering = new Numbering(baseAfter(last))
    expect(numbering.revisionOf(0, 0)).toBeGreaterThan(last)
    expect(numbering.etcdRevisionOf(numbering.endOf(3))).toBe(3)
  }
})
