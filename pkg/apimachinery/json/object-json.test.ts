import { expect, test } from "bun:test"
import { objectJson, rememberFieldSet } from "./object-json.ts"
import type { KubeObject } from "../resource.ts"

const set = { "f:spec": { "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:image": {} } } } }
const entry = {
  manager: "a",
  operation: "Update",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: set,
  subresource: "status",
} as const
const object = (more: object, metadata: object): KubeObject => ({
  ...more,
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", ...metadata },
})

test("the JSON of an object is the same as that of JSON.stringify, wherever field sets are", () => {
  // given objects without field sets, with several, with an incomplete entry, and with text and fields that look like a
  // set's place
  const objects = [
    object({}, {}),
    object({}, { managedFields: [] }),
    object(
      { status: { phase: "Running" } },
      { managedFields: [entry, { ...entry, manager: "b", fieldsV1: {} }], labels: { app: "web" } },
    ),
    object({}, { managedFields: [{ manager: "a", operation: "Update" }] }),
    object({}, { annotations: { note: '"fieldsV1":0' }, managedFields: [entry] }),
    object({ spec: { fieldsV1: 0 } }, { managedFields: [entry] }),
    object({ spec: { fieldsV1: 0.5 } }, { managedFields: [] }),
  ]

  // when and then
  for (const one of objects) expect(objectJson(one)).toBe(JSON.stringify(one))
})

test("a field set that many objects share is encoded once", () => {
  // given a set that counts how often it is written
  let written = 0
  const shared = Object.defineProperty({}, "toJSON", { value: () => ({ "f:told": { [`i:${written++}`]: {} } }) })
  rememberFieldSet(shared)
  rememberFieldSet(shared)

  // when
  const text = objectJson(object({}, { managedFields: [{ ...entry, fieldsV1: shared }] }))

  // then
  expect(text).toContain('"fieldsV1":{"f:told":{"i:0":{}}},"subresource":"status"')
  expect(written).toBe(1)
})
