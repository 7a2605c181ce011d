/** What the OpenAPI documents say of custom resources, beside descriptions, is what Kubernetes 1.36.2 says. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { json, startHttpServer } from "../serving/http-server.fixtures.ts"
import { DEFINITIONS, shapeOf } from "./custom-openapi.fixtures.ts"
import recorded from "./custom-openapi.recorded.json"

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
