import { expect, test } from "bun:test"
import { endOf, etcdRevisionOf, placeOf, revisionOf, withPlace } from "./numbering.ts"

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

test("revisions of one transaction rise, are below those of the next transaction, and give its etcd revision back", () => {
  expect([revisionOf(7, 0), revisionOf(7, 127), endOf(7), revisionOf(8, 0)]).toEqual([7000, 7127, 7999, 8000])
  expect([7000, 7127, 7999].map(etcdRevisionOf)).toEqual([7, 7, 7])
})
