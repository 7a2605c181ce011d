import { describe, expect, test } from "bun:test"
import { RESOURCES } from "../../../api/resources.ts"
import { SAMPLES } from "../../../../test/conformance/kinds/kinds.ts"
import { decodeObject } from "../../decoding/decode.ts"
import { addedFieldsExceed, fieldsExceed } from "./least-size.ts"
import { trackUpdate } from "./track.ts"

const stored = RESOURCES.filter(({ apiVersion, plural }) => SAMPLES[`${apiVersion} ${plural}`] !== undefined)

test.each(stored.map((resource) => [resource.kind, resource] as const))(
  "the fields of a %s are said to exceed no size that they do not exceed",
  (_kind, resource) => {
    // given what a manager owns of a new object
    const { apiVersion, kind, plural } = resource
    const sent = { apiVersion, kind, metadata: { name: "x" }, ...SAMPLES[`${apiVersion} ${plural}`]!.body }
    const { object } = decodeObject(resource, sent)
    const tracked = trackUpdate(resource, undefined, object, { manager: "m", now: "2026-01-01T00:00:00Z" })
    const size = JSON.stringify(tracked.metadata.managedFields?.[0]?.fieldsV1 ?? {}).length
    // then
    expect(fieldsExceed(resource, object, size)).toBe(false)
    expect(fieldsExceed(resource, object, -1025)).toBe(true)
  },
)

test("each item of a list takes some bytes of the fields", () => {
  const resource = stored.find(({ kind }) => kind === "ConfigMap")!
  const finalizers = Array.from({ length: 20_000 }, (_, i) => `a.b/${i}`)
  const { object } = decodeObject(resource, { metadata: { name: "x", finalizers } })
  expect(fieldsExceed(resource, object, 150_000)).toBe(true)
})

test("the fields of tens of thousands of labels exceed a megabyte", () => {
  const resource = stored.find(({ kind }) => kind === "ConfigMap")!
  const labels = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`label-${i}`, "x"]))
  const { object } = decodeObject(resource, { metadata: { name: "x", labels } })
  expect(fieldsExceed(resource, object, 1e6)).toBe(true)
  expect(fieldsExceed(resource, object, 2e6)).toBe(false)
})

test("the fields of a large object are not kept for the next one, those of a small one are", () => {
  const resource = stored.find(({ kind }) => kind === "ConfigMap")!
  const fieldsOf = (text: string, manager: string) => {
    const { object } = decodeObject(resource, { metadata: { name: "x" }, data: { text } })
    return trackUpdate(resource, undefined, object, { manager, now: "2026-01-01T00:00:00Z" }).metadata
      .managedFields![0]!.fieldsV1
  }
  expect(fieldsOf("x", "small")).toBe(fieldsOf("y", "small"))
  expect(fieldsOf("x".repeat(70_000), "large")).not.toBe(fieldsOf("y".repeat(70_000), "large"))
})

describe("the fields that a write adds", () => {
  const namespaces = stored.find(({ kind }) => kind === "Namespace")!
  const bare = decodeObject(namespaces, { metadata: { name: "x" } }).object
  const conditions = Array.from({ length: 50_000 }, (_, i) => ({ type: `a${i}`, status: "True" }))
  const full = { ...bare, status: { conditions } } as typeof bare
  const exceed = (old: typeof bare, object: typeof bare, subresource?: string) =>
    addedFieldsExceed(namespaces, old, object, { subresource, most: 1e6 })

  test("exceed a megabyte where a status gets tens of thousands of conditions", () => {
    expect(exceed(bare, full, "status")).toBe(true)
  })

  test("exceed it where it had others, but not by those that it may have had", () => {
    const some = (from: number, count: number) => ({ ...bare, status: { conditions: conditions.slice(from, count) } })
    expect(exceed(some(0, 3) as typeof bare, full, "status")).toBe(true)
    expect(exceed(some(0, 40_000) as typeof bare, full, "status")).toBe(false)
  })

  test("do not exceed it where the conditions were there before, or the write leaves the status as it is", () => {
    expect(exceed(full, { ...full, metadata: { ...full.metadata, labels: { a: "b" } } }, "status")).toBe(false)
    expect(exceed(bare, full)).toBe(false)
  })
})

test("the fields of a set take the bytes of its items", () => {
  const finalizers = Array.from({ length: 20_000 }, (_, i) => `a.b/${i}`)
  const resource = stored.find(({ kind }) => kind === "ConfigMap")!
  const { object } = decodeObject(resource, { metadata: { name: "x", finalizers } })
  const tracked = trackUpdate(resource, undefined, object, { manager: "m", now: "2026-01-01T00:00:00Z" })
  const size = JSON.stringify(tracked.metadata.managedFields![0]!.fieldsV1).length
  expect(fieldsExceed(resource, object, size - 2000)).toBe(true)
  expect(fieldsExceed(resource, object, size)).toBe(false)
})
