import { expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import { listBytes } from "./encode.ts"

const stored = (name: string, size: number): Stored => {
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
])("a list of %d items of %d bytes is the same whether in one piece or in several", (count, size) => {
  const items = Array.from({ length: count }, (_, i) => stored(`n${i}`, size))
  const bytes = listBytes(ConfigMap, { resourceVersion: "7" }, items)
  const whole = "pieces" in bytes ? Buffer.concat([...bytes.pieces()]) : Buffer.from(bytes)
  if ("pieces" in bytes) expect(whole.length).toBe(bytes.length)
  expect(JSON.parse(whole.toString())).toEqual({
    kind: "ConfigMapList",
    apiVersion: "v1",
    metadata: { resourceVersion: "7" },
    items: items.map(({ object }) => object),
  })
})
