/** The meaning of null in an applied configuration, as recorded from Kubernetes 1.36.2. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster, type LooseFields } from "../cluster.ts"

interface Template extends LooseFields {
  readonly spec: LooseFields
}

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "lamps.nulls.example" },
    spec: {
      group: "nulls.example",
      scope: "Namespaced",
      names: { plural: "lamps", kind: "Lamp", singular: "lamp" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: SCHEMA } }],
    },
  })
})
afterAll(() => cluster.stop())

const text = { type: "string" }
const SPEC = {
  plain: text,
  filled: { type: "integer", default: 4 },
  nullable: { type: "string", nullable: true },
  map: { type: "object", additionalProperties: text },
  list: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object", required: ["name"], properties: { name: text, value: text } },
  },
  struct: { type: "object", properties: { part: text } },
  atomic: { type: "array", items: text },
}
const SCHEMA = { type: "object", properties: { spec: { type: "object", properties: SPEC } } }
const LAMPS = "/apis/nulls.example/v1/namespaces/default/lamps"
const LAMP = { apiVersion: "nulls.example/v1", kind: "Lamp", metadata: { name: "lamp" } }
const LIVE = {
  plain: "x",
  filled: 5,
  nullable: "y",
  map: { k: "v" },
  list: [{ name: "i", value: "1" }],
  struct: { part: "q" },
  atomic: ["x"],
}

const apply = (path: string, body: object, force = true) =>
  cluster.send("PATCH", `${path}?fieldManager=applier&force=${String(force)}`, {
    body,
    type: "application/apply-patch+yaml",
  })

describe("null in an applied configuration of a custom object", () => {
  beforeEach(async () => {
    await cluster.delete(LAMPS)
  })
  const refused = (field: string, type: string): string =>
    `Lamp.nulls.example "lamp" is invalid: ${field}: Invalid value: "null": ${field} in body must be of type ${type}: "null"`
  const rows = [
    {
      title: "is refused if the schema is not nullable",
      given: { plain: null },
      conflict: ".spec.plain",
      forced: refused("spec.plain", "string"),
      created: refused("spec.plain", "string"),
    },
    {
      title: "is replaced by the default",
      given: { filled: null },
      conflict: ".spec.filled",
      forced: { ...LIVE, filled: 4 },
      created: { filled: 4 },
    },
    {
      title: "is a value if the schema is nullable",
      given: { nullable: null },
      conflict: ".spec.nullable",
      forced: { ...LIVE, nullable: null },
      created: { filled: 4, nullable: null },
    },
    {
      title: "removes no entries of a map",
      given: { map: null },
      forced: LIVE,
      created: refused("spec.map", "object"),
    },
    {
      title: "is refused as an entry of a map",
      given: { map: { k: null } },
      conflict: ".spec.map.k",
      forced: refused("spec.map.k", "string"),
      created: refused("spec.map.k", "string"),
    },
    {
      title: "removes no items of a list with keys",
      given: { list: null },
      forced: LIVE,
      created: refused("spec.list", "array"),
    },
    {
      title: "is refused in an item of a list",
      given: { list: [{ name: "i", value: null }] },
      conflict: '.spec.list[name="i"].value',
      forced: refused("spec.list[0].value", "string"),
      created: refused("spec.list[0].value", "string"),
    },
    {
      title: "removes no fields of a struct",
      given: { struct: null },
      forced: LIVE,
      created: refused("spec.struct", "object"),
    },
    {
      title: "replaces an atomic list as a whole",
      given: { atomic: null },
      conflict: ".spec.atomic",
      forced: refused("spec.atomic", "array"),
      created: refused("spec.atomic", "array"),
    },
  ]
  test.each(rows)("$title", async ({ given, conflict, forced, created }) => {
    const outcome = async (force: boolean) => {
      const { body } = await apply(`${LAMPS}/lamp`, { ...LAMP, spec: given }, force)
      return body.kind === "Status" ? body.message : body.spec
    }
    expect<unknown>(await outcome(true)).toEqual(created)
    await cluster.delete(LAMPS)
    await cluster.post(`${LAMPS}?fieldManager=maker`, { ...LAMP, spec: LIVE })
    expect<unknown>(await outcome(false)).toEqual(
      conflict === undefined
        ? forced
        : `Apply failed with 1 conflict: conflict with "maker" using nulls.example/v1: ${conflict}`,
    )
    expect<unknown>(await outcome(true)).toEqual(forced)
  })

  test("is removed when the applied configuration no longer has the field", async () => {
    await apply(`${LAMPS}/lamp`, { ...LAMP, spec: { nullable: null } })
    const { body } = await apply(`${LAMPS}/lamp`, { ...LAMP, spec: { plain: "x" } })
    expect<unknown>(body.spec).toEqual({ plain: "x", filled: 4 })
    expect(body.metadata.managedFields).toMatchObject([{ fieldsV1: { "f:spec": { "f:plain": {} } } }])
  })

  test("differs from a missing field in an update", async () => {
    const made = await cluster.post(LAMPS, { ...LAMP, spec: { nullable: null } })
    const put = await cluster.put(`${LAMPS}/lamp`, { ...made, spec: {} })
    expect<unknown>([put.spec, put.metadata.generation]).toEqual([{ filled: 4 }, 2])
  })
})

test("null in a configuration applied to a Deployment means the zero value or the default of the field, and the field is owned", async () => {
  // given
  const path = "/apis/apps/v1/namespaces/default/deployments"
  const container = { name: "c", image: "i", env: [{ name: "A", value: "1" }], command: ["x"] }
  await cluster.post(`${path}?fieldManager=maker`, {
    metadata: { name: "nulls" },
    spec: {
      replicas: 3,
      paused: true,
      minReadySeconds: 4,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { nodeName: "n", containers: [container] } },
    },
  })
  const applied = { name: "c", image: "j", env: [{ name: "A", value: null }], command: null }
  const config = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "nulls" },
    spec: {
      replicas: null,
      paused: null,
      minReadySeconds: null,
      template: { metadata: null, spec: { nodeName: null, containers: [applied] } },
    },
  }
  // when
  const refused = await apply(`${path}/nulls`, config, false)
  const { body } = await apply(`${path}/nulls`, config)
  // then a struct's own entry comes before the entries of its fields
  expect(refused.body.message.split("\n").slice(1)).toEqual([
    "- .spec.minReadySeconds",
    "- .spec.paused",
    "- .spec.replicas",
    "- .spec.template.spec.nodeName",
    '- .spec.template.spec.containers[name="c"].command',
    '- .spec.template.spec.containers[name="c"].image',
    '- .spec.template.spec.containers[name="c"].env[name="A"].value',
  ])
  const { replicas, template, ...rest } = body.spec as { readonly [name: string]: unknown; readonly template: Template }
  const [{ image, env, ...others }] = template.spec.containers as [LooseFields]
  expect<unknown>([replicas, template.metadata, image, env]).toEqual([1, { labels: { a: "b" } }, "j", [{ name: "A" }]])
  for (const gone of ["paused", "minReadySeconds", "nodeName", "command"])
    expect(Object.keys({ ...rest, ...template.spec, ...others })).not.toContain(gone)
  expect(body.metadata.managedFields![0]).toMatchObject({
    manager: "applier",
    fieldsV1: {
      "f:spec": { "f:minReadySeconds": {}, "f:paused": {}, "f:replicas": {}, "f:template": { "f:metadata": {} } },
    },
  })
})
