/** The codes and messages with which patches are refused. The expected values are those of Kubernetes 1.36. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "./cluster.ts"

const MAPS = "/api/v1/namespaces/default/configmaps"
let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post(MAPS, { metadata: { name: "m" }, data: { k: "v" } })
})
afterAll(() => cluster.stop())

const TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
}

interface Row {
  readonly type: keyof typeof TYPES
  readonly body: string
  readonly query?: string
  readonly code: number
  readonly message?: string | RegExp
  readonly warning?: string
}

const NAMELESS = "the name of the object (m based on URL) was undeterminable: name must be provided"

const rows: readonly Row[] = [
  { type: "json", body: "{", code: 400, message: "error decoding patch: unexpected end of JSON input" },
  { type: "json", body: "", code: 400, message: "error decoding patch: unexpected end of JSON input" },
  {
    type: "json",
    body: "{}",
    code: 400,
    message: "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
  },
  {
    type: "json",
    body: "[5]",
    code: 400,
    message: "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
  },
  {
    type: "json",
    body: '[{"op":5}]',
    code: 400,
    message: "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
  },
  { type: "json", body: "null", code: 200 },
  {
    type: "json",
    body: "[null]",
    code: 422,
    message: "the server rejected our request due to an error in our request",
  },
  {
    type: "json",
    body: '[{"op":"test","path":"/data/k","value":"v","extra":1}]',
    code: 200,
    warning: '299 - "json patch unknown field \\"[0].extra\\""',
  },
  { type: "json", body: '[{"op":"remove","path":"/metadata/name"}]', code: 400, message: NAMELESS },
  {
    type: "json",
    body: '[{"op":"add","path":"/data/k","value":5}]',
    code: 422,
    // What the patch changed stands by name, the rest as Go's types have it.
    message:
      /^ "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"v1\\",\\"data\\":{\\"k\\":5},\\"kind\\":\\"ConfigMap\\",\\"metadata\\":{\\"name\\":\\"m\\",\\"namespace\\":\\"default\\",\\"uid\\":.*}": json: cannot unmarshal number into Go struct field ConfigMap.data of type string$/,
  },
  {
    type: "json",
    body: '[{"op":"replace","path":"/apiVersion","value":"v2"}]',
    code: 422,
    message: /^ "" is invalid: patch: /,
  },
  {
    type: "merge",
    body: "[]",
    code: 400,
    message: "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
  },
  { type: "merge", body: "null", code: 400, message: "Invalid JSON Patch" },
  { type: "merge", body: '{"metadata":null}', code: 400, message: NAMELESS },
  {
    type: "merge",
    body: '{"metadata":{"labels":{"a":5}}}',
    code: 422,
    message:
      /^ "" is invalid: patch: Invalid value: "{.*}": json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string$/,
  },
  {
    type: "merge",
    body: '{"zeta":1,"alpha":2}',
    code: 200,
    warning: '299 - "unknown field \\"alpha\\"", 299 - "unknown field \\"zeta\\""',
  },
  {
    type: "merge",
    body: '{"zeta":1}',
    query: "?fieldValidation=Strict",
    code: 422,
    message: /^ "" is invalid: patch: Invalid value: "{.*}": strict decoding error: unknown field "zeta"$/,
  },
  {
    type: "strategic",
    body: "5",
    code: 400,
    message: "json: cannot unmarshal number into Go value of type map[string]interface {}",
  },
  { type: "strategic", body: "", code: 400, message: "unexpected end of JSON input" },
  { type: "strategic", body: "null", code: 200 },
  { type: "strategic", body: '{"data":[]}', code: 422, message: /^ "" is invalid: patch: / },
  {
    type: "apply",
    body: "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}",
    code: 422,
    message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
  },
]

test.each(rows)("$type $body gives $code", async ({ type, body, query = "", code, message, warning }) => {
  const answer = await cluster.send("PATCH", `${MAPS}/m${query}`, { body, type: TYPES[type] })
  expect([answer.code, answer.headers["warning"]]).toEqual([code, warning])
  if (typeof message === "string") expect(answer.body.message).toBe(message)
  else if (message !== undefined) expect(answer.body.message).toMatch(message)
})

test.each(["json", "merge", "strategic"] as const)(
  "a %s patch is read only when its object was found",
  async (type) => {
    const answer = await cluster.send("PATCH", `${MAPS}/none`, { body: "{", type: TYPES[type] })
    expect(answer).toMatchObject({ code: 404, body: { message: 'configmaps "none" not found' } })
    const scale = "/apis/apps/v1/namespaces/default/deployments/none/scale"
    expect(await cluster.send("PATCH", scale, { body: "{", type: TYPES[type] })).toMatchObject({ code: 404 })
  },
)
