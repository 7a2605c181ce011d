import { expect, test } from "bun:test"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Patch } from "../../../pkg/client/client.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"

const FREE = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
const spec = { type: "object", properties: { map: { type: "object", additionalProperties: FREE }, free: FREE } }
const DEFINITION = {
  metadata: { name: "boxes.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "boxes", kind: "Box" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      },
    ],
  },
}
const AT = { namespace: "default", name: "box" }
/** Makes the objects of JSON, whose keys are all their own. */
const parsed = <T>(text: string): T => JSON.parse(text) as T

test.each(["__proto__", "constructor", "toString"].flatMap((name) => [`map ${name}`, `free ${name}`]))(
  "a custom object keeps a field of any name: %s",
  async (place) => {
    const [where = "", name = ""] = place.split(" ")
    await using cluster = await startCluster({ nodes: 0, components: { scheduler: false, controllers: false } })
    await cluster.client.create(CustomResourceDefinition, parsed(JSON.stringify(DEFINITION)))
    await cluster.settle()
    const Box = cluster.kind<KubeObject & { readonly spec: object }>("example.com/v1", "Box")
    const within = (inner: string): string => `{"${where}":${inner}}`
    const stored = async () => JSON.stringify((await cluster.client.get(Box, AT)).spec)
    const whole = (inner: string) =>
      `{"apiVersion":"example.com/v1","kind":"Box","metadata":{"namespace":"default","name":"box"},"spec":${within(inner)}}`
    const change = async (patch: Patch) => {
      await cluster.client.patch(Box, AT, patch, patch.type === "apply" ? { fieldManager: "me", force: true } : {})
      return stored()
    }
    const apply = (inner: string) => change({ type: "apply", body: parsed(whole(inner)) })
    // when it is created and updated
    await cluster.client.create(Box, parsed(whole(`{"${name}":{}}`)))
    expect(await stored()).toBe(within(`{"${name}":{}}`))
    const { metadata } = await cluster.client.get(Box, AT)
    const updated = await cluster.client.update(Box, { ...parsed<object>(whole('{"a":{"b":1}}')), metadata } as never)
    // then the difference counts
    expect([updated.metadata.generation, await stored()]).toEqual([2, within('{"a":{"b":1}}')])
    // and patches and applies set it and remove it
    expect(await change({ type: "merge", body: parsed(`{"spec":${within(`{"${name}":{"c":1}}`)}}`) })).toBe(
      within(`{"a":{"b":1},"${name}":{"c":1}}`),
    )
    expect(await change({ type: "merge", body: parsed(`{"spec":${within(`{"${name}":null}`)}}`) })).toBe(
      within('{"a":{"b":1}}'),
    )
    expect(await apply(`{"${name}":{"e":2},"z":{}}`)).toBe(within(`{"a":{"b":1},"${name}":{"e":2},"z":{}}`))
    expect(await apply('{"z":{}}')).toBe(within('{"a":{"b":1},"z":{}}'))
  },
)
