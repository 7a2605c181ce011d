import { expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import { listBytes } from "./list-bytes.ts"

const stored = (name: string, size: number): Stored & { readonly object: { readonly data: object } } => {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { x: "x".repeat(size) } }
  return { key: name, object, revision: 1, created: 1, time: 0, json: Buffer.from(JSON.stringify(object)) }
}

test.each([
  [0, 0],
  [1, 10],
  [3, 10],
  [1, 1_000_000],
  [3, 200_000],
  [40, 30_000],
  [5000, 100],
])("a list of %d items of %d bytes has the same bytes in one piece and in several", (count, size) => {
  const items = Array.from({ length: count }, (_, i) => stored(`n${i}`, size))
  const bytes = listBytes(ConfigMap, { resourceVersion: "7" }, items)
  const whole = "pieces" in bytes ? Buffer.concat([...bytes.pieces()]) : Buffer.from(bytes)
  if ("pieces" in bytes) {
    expect<number | undefined>(bytes.length).toBe(whole.length)
    // A few bytes above what Bun passes to the kernel at once would cost another call.
    for (const piece of size < 200_000 ? bytes.pieces() : []) expect(piece.length).toBeLessThanOrEqual(256 * 1024)
  }
  expect(JSON.parse(whole.toString())).toEqual({
    kind: "ConfigMapList",
    apiVersion: "v1",
    metadata: { resourceVersion: "7" },
    items: items.map(({ object: { metadata, data } }) => ({ metadata, data })),
  })
})

test("a long list of a kind that is seldom read is made without a look at all its items first", () => {
  // given items that tell when they are read
  let reads = 0
  const items = Array.from({ length: 5000 }, (_, i) => {
    const { json, ...rest } = stored(`n${i}`, 100)
    return {
      ...rest,
      get json() {
        reads++
        return json
      },
    }
  })
  // when
  const bytes = listBytes({ ...ConfigMap, ttlSeconds: 3600 }, {}, items)
  // then each is read when its piece is made, and once, but for those that begin the next piece
  expect(reads).toBe(0)
  if (!("pieces" in bytes)) throw new Error("the list is not in pieces")
  expect(bytes.length).toBeUndefined()
  const pieces = [...bytes.pieces()]
  expect(reads).toBe(5000 + pieces.length - 1)
  expect(JSON.parse(Buffer.concat(pieces).toString()).items).toEqual(
    items.map(({ object: { metadata, data } }) => ({ metadata, data })),
  )
})

test.each([
  { title: "stand first, kind before apiVersion", json: '{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}' },
  { title: "stand first, apiVersion before kind", json: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}' },
  { title: "stand last", json: '{"metadata":{},"apiVersion":"v1","kind":"ConfigMap"}' },
  { title: "stand apart", json: '{"kind":"ConfigMap","metadata":{},"apiVersion":"v1"}' },
])("the items of a list are written without kind and apiVersion where these $title", ({ json }) => {
  const item = { key: "a", object: JSON.parse(json), revision: 1, created: 1, time: 0, json: Buffer.from(json) }
  const bytes = listBytes(ConfigMap, {}, [item, item])
  expect(Buffer.from(bytes as Uint8Array).toString()).toBe(
    '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":[{"metadata":{}},{"metadata":{}}]}\n',
  )
})
