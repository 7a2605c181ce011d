/** What the OpenAPI documents say of custom resources, beside descriptions, is what Kubernetes 1.36.2 says. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { json, startHttpServer } from "../serving/http-server.fixtures.ts"
import { DEFINITIONS, shapeOf } from "./custom-openapi.fixtures.ts"
import recorded from "./custom-openapi.recorded.json"

type Schemas = Readonly<Record<string, Readonly<Record<string, unknown>>>>
/** A document of version 2 or 3. */
interface Document {
  readonly definitions?: Schemas
  readonly components?: { readonly schemas: Schemas }
}

let server: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => {
  server = await startHttpServer()
  for (const definition of DEFINITIONS) {
    const answer = await server.call(
      "POST",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      json(definition),
    )
    expect(answer.code).toBe(201)
  }
})
afterAll(() => server.stop())

const documentAt = async (path: string): Promise<unknown> =>
  JSON.parse((await server.call("GET", path, { headers: { accept: "application/json" } })).text)

test.each(Object.entries(recorded.documents))("%s", async (path, shape) => {
  expect(shapeOf(await documentAt(path))).toEqual(shape)
})

test("there are documents for the versions of custom resources, and none for their groups alone", async () => {
  const { paths } = (await documentAt("/openapi/v3")) as { readonly paths: object }
  expect(
    Object.keys(paths)
      .filter((path) => /shop|a-b/.test(path))
      .sort(),
  ).toEqual(recorded.index)
})

test.each(["/openapi/v2", "/openapi/v3/apis/paint.example.com/v1"])(
  "the fields by which clients can select objects are named for the kind and its list: %s",
  async (path) => {
    // given
    const definition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "colors.paint.example.com" },
      spec: {
        group: "paint.example.com",
        scope: "Namespaced",
        names: { plural: "colors", kind: "Color" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            selectableFields: [{ jsonPath: ".spec.tone" }],
            schema: {
              openAPIV3Schema: {
                type: "object",
                properties: { spec: { type: "object", properties: { tone: { type: "string" } } } },
              },
            },
          },
        ],
      },
    }
    await server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json(definition))
    // when
    const { definitions, components } = (await documentAt(path)) as Document
    // then
    const schemas = definitions ?? components!.schemas
    for (const name of ["com.example.paint.v1.Color", "com.example.paint.v1.ColorList"])
      expect(schemas[name]!["x-kubernetes-selectable-fields"]).toEqual([{ fieldPath: "spec.tone" }])
  },
)
