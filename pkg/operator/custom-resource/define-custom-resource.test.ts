import { describe, expect, test } from "bun:test"
import { CustomResourceDefinition } from "../../api/apiextensions/v1/customresourcedefinition.ts"
import { decodeObject } from "../../apimachinery/decoding/decode.ts"
import { startCluster } from "../../../components/cluster/testing/testing.ts"
import { defineCustomResource, type ObjectOf } from "./define-custom-resource.ts"
import { s, type Read, type Sent } from "./fields.ts"

const { crd, kinds } = defineCustomResource({
  group: "example.com",
  kind: "Widget",
  shortNames: ["wd"],
  versions: {
    v1: {
      spec: s.object({
        size: s.integer({ minimum: 1 }),
        ports: s.list(s.object({ port: s.integer(), name: s.string().optional() }), { keys: ["port"] }).optional(),
        tags: s.list(s.string(), { set: true, maxItems: 3 }).default([]),
        extra: s.any().optional(),
      }),
      columns: { Size: { path: ".spec.size", type: "integer" } },
      selectableFields: [".spec.size"],
    },
    v1beta1: { spec: s.object({ size: s.integer() }), deprecated: "use v1", served: true },
  },
})
const Widget = kinds.v1

describe("a custom resource that is declared once", () => {
  test("has a definition that a cluster accepts without a warning", async () => {
    const { faults } = decodeObject(CustomResourceDefinition, crd, { fieldValidation: "Strict" })
    expect(faults).toEqual([])
    await using cluster = await startCluster({ preload: crd, components: { controllers: false } })
    const { spec } = (await cluster.get(CustomResourceDefinition, "widgets.example.com")) as CustomResourceDefinition
    expect(spec.versions.map(({ name, storage, deprecationWarning }) => [name, storage, deprecationWarning])).toEqual([
      ["v1", true, undefined],
      ["v1beta1", false, "use v1"],
    ])
    expect(spec.versions[0]!.schema!.openAPIV3Schema).toEqual({
      type: "object",
      required: ["spec"],
      properties: {
        spec: {
          type: "object",
          required: ["size"],
          properties: {
            size: { type: "integer", minimum: 1 },
            ports: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["port"],
              items: {
                type: "object",
                required: ["port"],
                properties: { port: { type: "integer" }, name: { type: "string" } },
              },
            },
            tags: {
              type: "array",
              "x-kubernetes-list-type": "set",
              items: { type: "string" },
              maxItems: 3,
              default: [],
            },
            extra: { "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      },
    })
  })

  test("has clients for each version, with the types of its objects", async () => {
    await using cluster = await startCluster({ preload: crd, components: { controllers: false } })
    await cluster.client.create(Widget, { metadata: { name: "a" }, spec: { size: 2, ports: [{ port: 80 }] } })
    const widget: ObjectOf<typeof Widget> = await cluster.get(Widget, "a")
    const [tags, size]: readonly [readonly string[], number] = [widget.spec.tags, widget.spec.size]
    expect([size, tags, widget.spec.ports?.[0]?.port]).toEqual([2, [], 80])
    expect((await cluster.get(kinds.v1beta1, "a")).spec).toEqual({ size: 2 })
    expect((await cluster.list(Widget)).length).toBe(1)
  })

  test("gives NotFound if its definition does not exist", async () => {
    await using cluster = await startCluster({ components: { controllers: false } })
    const read = cluster.client.get(Widget, "a").catch((err: unknown) => err)
    expect(await read).toMatchObject({
      reason: "NotFound",
      message: "the server could not find the requested resource",
    })
  })

  test("has different types for reading and sending", () => {
    const fields = { a: s.integer(), b: s.string().optional(), c: s.oneOf("x", "y").default("x") }
    const read: Read<typeof fields> = { a: 1, c: "y" }
    const sent: Sent<typeof fields> = { a: 1 }
    // @ts-expect-error: what has a default is always read
    const wrong: Read<typeof fields> = { a: 1 }
    expect([read, sent, wrong]).toHaveLength(3)
  })
})
