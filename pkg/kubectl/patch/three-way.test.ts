import { describe, expect, test } from "bun:test"
import { threeWayMergePatch } from "./merge-patch.ts"
import { openApiMeta, type OpenApiSchema } from "./openapi-meta.ts"
import { threeWayStrategicPatch } from "./three-way.ts"

const byKey = (mergeKey: string, $ref: string): OpenApiSchema => ({
  items: { allOf: [{ $ref: `#/components/schemas/${$ref}` }] },
  "x-kubernetes-patch-merge-key": mergeKey,
  "x-kubernetes-patch-strategy": "merge",
})
const schemas: Record<string, OpenApiSchema> = {
  Spec: {
    properties: {
      containers: byKey("name", "Container"),
      volumes: { ...byKey("name", "Volume"), "x-kubernetes-patch-strategy": "merge,retainKeys" },
      finalizers: { items: {}, "x-kubernetes-patch-strategy": "merge" },
      args: { items: {} },
      labels: {},
      strategy: { allOf: [{ $ref: "#/components/schemas/Strategy" }], "x-kubernetes-patch-strategy": "retainKeys" },
    },
  },
  Container: { properties: { name: {}, image: {}, ports: byKey("containerPort", "Port") } },
  Port: { properties: { containerPort: {}, protocol: {} } },
  Volume: { properties: { name: {}, emptyDir: {}, hostPath: {} } },
  Strategy: { properties: { type: {}, rollingUpdate: {} } },
}
const patchOf = (original: object, modified: object, current: object, overwrite = true) =>
  threeWayStrategicPatch(
    { original: { ...original }, modified: { ...modified }, current: { ...current } },
    openApiMeta(schemas["Spec"]!, schemas),
    overwrite,
  )

describe("the strategic merge patch of an apply", () => {
  test.each([
    ["nothing changed", { args: ["a"] }, { args: ["a"] }, { args: ["a"], labels: { by: "other" } }, {}],
    ["a field is new", {}, { args: ["a"] }, {}, { args: ["a"] }],
    ["a field is gone", { args: ["a"] }, {}, { args: ["a"] }, { args: null }],
    ["another has removed the field already", { args: ["a"] }, {}, {}, { args: null }],
    [
      "an item of a list is gone, and another's stays",
      { containers: [{ name: "a" }, { name: "b" }] },
      { containers: [{ name: "a", image: "new" }] },
      { containers: [{ name: "a" }, { name: "b" }, { name: "other" }] },
      {
        "$setElementOrder/containers": [{ name: "a" }],
        containers: [
          { name: "a", image: "new" },
          { name: "b", $patch: "delete" },
        ],
      },
    ],
    [
      "texts of a merged list change, in the order of upstream's sorted list",
      { finalizers: ["b", "a"] },
      { finalizers: ["b", "c"] },
      { finalizers: ["b", "a"] },
      {
        finalizers: ["c"],
        "$setElementOrder/finalizers": ["b", "c"],
        "$deleteFromPrimitiveList/finalizers": ["a"],
      },
    ],
    [
      "a volume gets another source",
      { volumes: [{ name: "v", emptyDir: {} }] },
      { volumes: [{ name: "v", hostPath: { path: "/" } }] },
      { volumes: [{ name: "v", emptyDir: {} }] },
      {
        "$setElementOrder/volumes": [{ name: "v" }],
        volumes: [{ $retainKeys: ["hostPath", "name"], name: "v", emptyDir: null, hostPath: { path: "/" } }],
      },
    ],
    [
      "the type of the strategy changes, whose settings the server filled in",
      { strategy: { type: "RollingUpdate" } },
      { strategy: { type: "Recreate" } },
      { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } },
      { strategy: { $retainKeys: ["type"], type: "Recreate" } },
    ],
    [
      "one of two ports with the same number changes",
      {},
      { containers: [{ name: "a", ports: [{ containerPort: 53 }, { containerPort: 53, protocol: "UDP" }] }] },
      { containers: [{ name: "a", ports: [{ containerPort: 53 }, { containerPort: 53, protocol: "TCP" }] }] },
      {
        "$setElementOrder/containers": [{ name: "a" }],
        containers: [
          {
            name: "a",
            "$setElementOrder/ports": [{ containerPort: 53 }, { containerPort: 53 }],
            ports: [{ containerPort: 53, protocol: "UDP" }],
          },
        ],
      },
    ],
  ])("when %s", (_title, original, modified, current, patch) => {
    expect(patchOf(original, modified, current)).toEqual(patch as never)
  })

  test("names a field that the server does not know", () => {
    expect(() => patchOf({}, { other: { a: 1 } }, { other: { a: 2 } })).toThrow('unable to find api field "other"')
    expect(patchOf({}, { other: { a: 1 } }, { other: { a: 1 } })).toEqual({})
  })

  test("is refused without overwrite when others have changed the field too", () => {
    const [original, modified, current] = [{ args: ["a"] }, { args: ["b"] }, { args: ["c"] }]
    expect(() => patchOf(original, modified, current, false)).toThrow(
      "patch:\nargs:\n- b\n\nconflicts with changes made from original to current:\nargs:\n- c\n\n",
    )
  })
})

describe("the JSON merge patch of an apply", () => {
  test.each([
    ["nothing changed", { a: 1 }, { a: 1 }, { a: 1, b: 2 }, {}],
    [
      "fields change, come and go",
      { a: 1, b: { c: 1 } },
      { a: 2, b: {}, d: [1] },
      { a: 1, b: { c: 1, e: 1 } },
      { a: 2, b: { c: null }, d: [1] },
    ],
    ["an empty object is a value", {}, { a: {} }, {}, { a: {} }],
  ])("when %s", (_title, original, modified, current, patch) => {
    expect(threeWayMergePatch({ original, modified, current } as never)).toEqual(patch as never)
  })

  test("never changes what identifies the object", () => {
    expect(() => threeWayMergePatch({ original: {}, modified: { kind: "B" }, current: { kind: "A" } })).toThrow(
      "At least one of apiVersion, kind and name was changed",
    )
  })
})
