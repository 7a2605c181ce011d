import { expect, test } from "bun:test"
import { json, startHttpServer } from "../serving/http-server.fixtures.ts"
import { body, definition, DEFINITIONS } from "./widgets.fixtures.ts"

/** A version with some fields, of which some have defaults. */
function version(name: string, fields: object, status: object, storage = false) {
  const spec = { type: "object", properties: { size: { type: "integer" }, ...fields } }
  const schema = { openAPIV3Schema: { type: "object", properties: { spec, status } } }
  return { name, served: true, storage, subresources: { status: {} }, schema }
}
const text = (value?: string) => ({ type: "string", ...(value === undefined ? {} : { default: value }) })

test("an object has the defaults of the version it is written in, and of the stored one, but not of another", async () => {
  // given two versions with other defaults, of which v1 is stored
  const server = await startHttpServer()
  const count = { type: "object", properties: { n: { type: "integer" } } }
  const versions = [
    version("v1beta1", { color: text("red") }, { ...count, default: { n: -1 } }),
    version("v1", { color: text(), shape: text("round") }, count, true),
  ]
  await server.call("POST", DEFINITIONS, json(definition("both", "Both", ...versions)))
  const path = (name: string) => `/apis/example.com/${name}/namespaces/default/both`
  const made = (name: string, apiVersion: string) =>
    json({ apiVersion: `example.com/${apiVersion}`, kind: "Both", metadata: { name }, spec: { size: 1 } })
  // when one is made in each
  const answers = [
    await server.call("POST", path("v1"), made("a", "v1")),
    await server.call("POST", path("v1beta1"), made("b", "v1beta1")),
    ...(await Promise.all(
      ["v1", "v1beta1"].flatMap((name) => ["a", "b"].map((object) => server.call("GET", `${path(name)}/${object}`))),
    )),
  ]
  // then they are as kube-apiserver 1.36.2 answers
  expect(answers.map((answer) => [body(answer)["apiVersion"], body(answer).spec, body(answer).status])).toEqual([
    ["example.com/v1", { size: 1, shape: "round" }, undefined],
    ["example.com/v1beta1", { size: 1, color: "red" }, undefined],
    ["example.com/v1", { size: 1, shape: "round" }, undefined],
    ["example.com/v1", { size: 1, color: "red", shape: "round" }, undefined],
    ["example.com/v1beta1", { size: 1 }, undefined],
    ["example.com/v1beta1", { size: 1, color: "red" }, undefined],
  ])
  await server.stop()
})
