import { describe, expect, test } from "bun:test"
import { Namespace } from "../../../api/core/v1/namespace.ts"
import { decodeObject } from "../../decoding/decode.ts"
import { applyConfigurationIn } from "./apply.ts"
import { fieldSetOf } from "./compare.ts"
import { allAdded } from "./new-fields.ts"
import { fieldsOf, shapeOf } from "./shape.ts"
import { trackUpdate } from "./track.ts"

const NOW = "2026-01-01T00:00:00Z"
const MANY = 5000

const bare = decodeObject(Namespace, { metadata: { name: "x" } }).object
const conditions = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ type: `a${i}`, status: "True", reason: "r", message: "m" }))
const withConditions = (count: number) => ({ ...bare, status: { conditions: conditions(count) } }) as Namespace
const setsOf = (count: number) => {
  const managed = { ...bare, metadata: { ...bare.metadata, managedFields: undefined } }
  const tracked = trackUpdate(Namespace, undefined, managed, { manager: "m", now: NOW })
  const status = { ...tracked, ...{ status: withConditions(count).status } }
  const { managedFields } = trackUpdate(Namespace, tracked, status, {
    manager: "m",
    subresource: "status",
    now: NOW,
  }).metadata
  const own = managedFields!.find(({ subresource }) => subresource === "status")!
  return (own.fieldsV1 as Record<string, Record<string, Record<string, object>>>)["f:status"]!["f:conditions"]!
}

describe("the fields of a long list", () => {
  test("are one set for all items that have the same fields", () => {
    // when such a list is written
    const sets = Object.entries(setsOf(MANY)).flatMap(([element, set]) => (element === "." ? [] : [set]))
    // then
    expect(sets).toHaveLength(MANY)
    expect(new Set(sets).size).toBe(1)
  })

  test("are one set for all items of a configuration, too", () => {
    const set = fieldSetOf(shapeOf(Namespace.schema), withConditions(MANY)) as never
    const sets = Object.values(set["f:status"]["f:conditions"])
    expect(new Set(sets).size).toBe(1)
  })

  test("are not kept for the next object, which those of a short one are", () => {
    const shape = fieldsOf(fieldsOf(shapeOf(Namespace.schema))!.get("status")!.shape)!.get("conditions")!.shape
    const added = (count: number) => allAdded(shape, conditions(count))
    expect(added(3)).toBe(added(3))
    expect(added(MANY)).not.toBe(added(MANY))
  })
})

test("an apply of a list whose fields nobody can store makes no set of them", () => {
  // given finalizers, which are a set
  const finalizers = Array.from({ length: 20_000 }, (_, i) => `example.com/${i}`)
  const config = { apiVersion: "v1", kind: "Namespace", metadata: { name: "x", finalizers } }
  const by = { manager: "m", now: NOW, force: true }
  const applied = (most: number) => applyConfigurationIn(Namespace, undefined, config, { ...by, most }, () => undefined)
  // when they are applied
  const [within, beyond] = [applied(1e6), applied(1e5)] as { readonly object: Namespace }[]
  // then all are there, and their manager is known only where the fields fit
  expect(beyond!.object.metadata.finalizers).toEqual(finalizers)
  expect(within!.object.metadata.managedFields).toHaveLength(1)
  expect(beyond!.object.metadata.managedFields).toBeUndefined()
})
