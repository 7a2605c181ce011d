import { expect, test } from "bun:test"
import { baseAfter, Numbering, placeOf, withPlace } from "./numbering.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

test.each([
  { title: "JSON", value: '{"a":1}' },
  { title: "an encrypted value", value: "k8s:enc:secretbox:v1:a:\n \t}" },
])("$title comes back with each place that a transaction has", ({ value }) => {
  for (let place = 0; place < 128; place++) {
    const written = withPlace(bytes(value), place)
    expect(placeOf(written)).toEqual({ value: bytes(value), place })
    if (value.startsWith("{")) expect(JSON.parse(new TextDecoder().decode(written))).toEqual({ a: 1 })
  }
})

test("JSON that another program has written has the place 0", () => {
  expect(placeOf(bytes('{"a":1}'))).toEqual({ value: bytes('{"a":1}'), place: 0 })
})

test("revisions of one transaction rise, stay below those of the next one and lead back to it", () => {
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

test("the first revision of a new etcd comes after the last one of the store before it", () => {
  for (const last of [1, 999, 1000, 1_234_567]) {
    const numbering = new Numbering(baseAfter(last))
    expect(numbering.revisionOf(0, 0)).toBeGreaterThan(last)
    expect(numbering.etcdRevisionOf(numbering.endOf(3))).toBe(3)
  }
})
