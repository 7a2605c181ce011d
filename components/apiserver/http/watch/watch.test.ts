import { expect, test } from "bun:test"
import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { StoredObject } from "../../../../pkg/storage/stored-object.ts"
import { WatchBatch, WatchFrame } from "../../call/frame.ts"
import type { Accepted } from "../../codec/negotiate.ts"
import { frameEncoder } from "./watch.ts"

const encoderOf = (accepted: Partial<Accepted> = {}) =>
  frameEncoder({
    accepted: { encoding: "json", as: undefined, asVersion: "v1", pretty: false, ...accepted },
    resource: ConfigMap,
    includeObject: "None",
    now: () => 0,
  })
const added = (name: string, revision: number) =>
  new WatchFrame(
    "ADDED",
    new StoredObject(
      { key: `/registry/core/configmaps/default/${name}`, revision, created: revision, time: 0, seldomRead: false },
      { object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, resourceVersion: String(revision) } } },
      true,
    ),
  )
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const line = (name: string, revision: number) =>
  `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}","resourceVersion":"${revision}"}}}\n`

test("a batch of frames is one body, and one HTTP/1.1 chunk with its length before it", () => {
  const batch = new WatchBatch([added("a", 1), added("b", 2)])
  const body = line("a", 1) + line("b", 2)
  expect(text(encoderOf().body(batch))).toBe(body)
  expect(text(encoderOf().chunk(batch))).toBe(`${body.length.toString(16)}\r\n${body}\r\n`)
})

test.each<Partial<Accepted>>([
  {},
  { encoding: "protobuf" },
  { as: "PartialObjectMetadata" },
  { as: "PartialObjectMetadata", encoding: "protobuf" },
])("watches that accept the same format share the encoded bytes: %j", (accepted) => {
  // given a batch, and watchers that each ask for their encoder
  const batch = new WatchBatch([added("a", 1), added("b", 2)])
  const [one, other] = [encoderOf(accepted), encoderOf(accepted)]
  // then the bytes of the one are those of the other, and differ from what others want
  expect(one.body(batch)).toBe(other.body(batch))
  expect(one.chunk(batch)).toBe(other.chunk(batch))
  expect(encoderOf({ as: "PartialObjectMetadata", asVersion: "v1beta1" }).body(batch)).not.toEqual(one.body(batch))
})

test("each watch as a Table gets the column definitions once", () => {
  const columns = (bytes: Uint8Array) =>
    text(bytes)
      .trimEnd()
      .split("\n")
      .map(
        (row) =>
          (JSON.parse(row) as { object: { columnDefinitions: object | null } }).object.columnDefinitions !== null,
      )
  const batch = new WatchBatch([added("a", 1), added("b", 2)])
  for (const encoder of [encoderOf({ as: "Table" }), encoderOf({ as: "Table" })]) {
    expect(columns(encoder.body(batch))).toEqual([true, false])
    expect(columns(encoder.body(batch))).toEqual([false, false])
  }
})

test("the error that ends a watch is written as a line of its own", () => {
  expect(text(encoderOf().error(new ApiError("Expired", "too old")))).toMatch(
    /^\{"type":"ERROR","object":\{"kind":"Status".*"code":410.*\}\n$/,
  )
})
