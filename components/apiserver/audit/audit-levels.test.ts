import { expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { startAudited, type AuditLine } from "./audit.fixtures.ts"

const HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
const JSON_BODY = { "content-type": "application/json" }
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
const MANAGED = '[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}]'
const about = (lines: readonly AuditLine[], uri: string): readonly AuditLine[] =>
  lines.filter(({ requestURI }) => (requestURI as string).startsWith(uri))

test("a policy says how much of a request is audited, and at which stages", async () => {
  // given a policy that shows all of ConfigMaps, the requests for ServiceAccounts, and nothing else
  const server = await startAudited({
    policy: `${HEAD}rules:
- {level: RequestResponse, resources: [{resources: [configmaps]}], userGroups: ["system:masters"], users: ["system:admin"]}
- {level: Request, resources: [{resources: [serviceaccounts]}], users: ["system:admin"], omitStages: [RequestReceived]}
`,
  })
  // when
  const body = JSON.stringify({ metadata: { name: "a" }, data: { key: "value" } })
  await server.ask("POST", CONFIG_MAPS, JSON_BODY, body)
  await server.ask("POST", "/api/v1/namespaces/default/serviceaccounts", JSON_BODY, '{"metadata":{"name":"robot"}}')
  await server.ask("GET", "/version", {})
  const lines = await server.end()
  // then
  expect(lines).toHaveLength(3)
  const [received, complete, account] = lines
  expect(received).toMatchObject({
    stage: "RequestReceived",
    level: "RequestResponse",
    objectRef: { namespace: "default" },
  })
  expect(received!["responseStatus"]).toBeUndefined()
  expect(received!["stageTimestamp"]).toBe(received!["requestReceivedTimestamp"])
  expect(complete).toMatchObject({
    auditID: received!["auditID"],
    stage: "ResponseComplete",
    objectRef: { resource: "configmaps", name: "a" },
    responseStatus: { metadata: {}, code: 201 },
    requestObject: { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" }, data: { key: "value" } },
    responseObject: { metadata: { name: "a", managedFields: [{ operation: "Update" }] }, data: { key: "value" } },
  })
  expect(account).toMatchObject({ level: "Request", requestObject: { metadata: { name: "robot" } } })
  expect(account!["responseObject"]).toBeUndefined()
})

test("events show patches, options of deletions, failures, lists and tables, without managedFields if so said", async () => {
  // given
  const server = await startAudited({
    policy: `${HEAD}omitStages: [RequestReceived]\nomitManagedFields: true\nrules:
- {level: RequestResponse, users: ["system:admin"]}\n`,
  })
  await server.ask("POST", CONFIG_MAPS, JSON_BODY, `{"metadata":{"name":"a","managedFields":${MANAGED}}}`)
  // when
  await server.ask(
    "PATCH",
    `${CONFIG_MAPS}/a`,
    { "content-type": "application/merge-patch+json" },
    '{"data":{"b":"c"}}',
  )
  await server.ask("GET", `${CONFIG_MAPS}?limit=5`, {})
  await server.ask("GET", `${CONFIG_MAPS}?limit=6`, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" })
  await server.ask("GET", `${CONFIG_MAPS}/none`, {})
  await server.ask(
    "DELETE",
    `${CONFIG_MAPS}/a`,
    JSON_BODY,
    '{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}',
  )
  const lines = await server.end()
  // then
  const [, patched, listed, table, missing, deleted] = lines
  expect(patched).toMatchObject({
    verb: "patch",
    requestObject: { data: { b: "c" } },
    responseObject: { data: { b: "c" } },
  })
  expect(listed).toMatchObject({ verb: "list", responseObject: { kind: "ConfigMapList", items: expect.any(Array) } })
  expect(table).toMatchObject({ responseObject: { kind: "Table", rows: expect.any(Array) } })
  expect(missing).toMatchObject({
    responseStatus: { status: "Failure", reason: "NotFound", code: 404 },
    responseObject: { kind: "Status", status: "Failure", code: 404 },
  })
  expect(deleted).toMatchObject({
    verb: "delete",
    requestObject: { kind: "DeleteOptions", gracePeriodSeconds: 0 },
    responseStatus: { status: "Success", code: 200 },
    responseObject: { kind: "Status", status: "Success", details: { name: "a" } },
  })
  expect(JSON.stringify(lines)).not.toContain('"managedFields"')
})

test("calls of components of this process are audited as their users, as if they came over HTTP", async () => {
  // given a policy about one component
  const server = await startAudited({
    policy: `${HEAD}rules:\n- {level: RequestResponse, users: ["system:kube-scheduler"]}\n`,
  })
  const user = { name: "system:kube-scheduler", groups: ["system:masters"] }
  const client = newClient(server.server.transportFor(user))
  // when
  await client.create(ConfigMap, { metadata: { name: "a", namespace: "default" } }, { fieldManager: "me" })
  await client.create(ConfigMap, { metadata: { name: "dry", namespace: "default" } }, { dryRun: true })
  await client.get(ConfigMap, { name: "none", namespace: "default" }).catch(() => undefined)
  await client.delete(ConfigMap, { name: "a", namespace: "default" })
  const lines = await server.end()
  // then
  expect(about(lines, `${CONFIG_MAPS}?fieldManager=me`)).toMatchObject([
    { stage: "RequestReceived" },
    {
      stage: "ResponseComplete",
      verb: "create",
      user: { username: "system:kube-scheduler", groups: ["system:masters"] },
      userAgent: expect.stringMatching(
        /^kube-scheduler\/v1\.\d+\.\d+\S* \(linux\/\w+\) kubernetes\/\w+\/scheduler$/,
      ) as unknown,
      sourceIPs: ["127.0.0.1"],
      objectRef: { resource: "configmaps", namespace: "default", name: "a", apiVersion: "v1" },
      responseStatus: { code: 201 },
      requestObject: { metadata: { name: "a" } },
      responseObject: { kind: "ConfigMap" },
      annotations: { "authorization.k8s.io/decision": "allow" },
    },
  ])
  expect(about(lines, `${CONFIG_MAPS}?dryRun=All`)[1]).toMatchObject({ objectRef: { name: "dry" } })
  expect(about(lines, `${CONFIG_MAPS}/none`)[1]).toMatchObject({ responseStatus: { code: 404, reason: "NotFound" } })
  expect(about(lines, `${CONFIG_MAPS}/a`)[1]).toMatchObject({
    verb: "delete",
    requestObject: { kind: "DeleteOptions" },
  })
})

test("a watch of a component has an event when it begins, and another when it ends", async () => {
  // given
  const server = await startAudited({ policy: `${HEAD}rules: [{level: Metadata, users: [w]}]\n` })
  const client = newClient(server.server.transportFor({ name: "w", groups: ["system:masters"] }))
  // when
  const watch = client.watch(ConfigMap, {}, { onEvent: () => undefined, onEnd: () => undefined })
  watch.close()
  watch.close()
  // then
  const lines = await server.end()
  expect(lines.map(({ stage, verb, requestURI }) => [stage, verb, requestURI])).toEqual([
    ["RequestReceived", "watch", "/api/v1/configmaps?watch=true"],
    ["ResponseStarted", "watch", "/api/v1/configmaps?watch=true"],
    ["ResponseComplete", "watch", "/api/v1/configmaps?watch=true"],
  ])
})

test("a watch that a component may not begin has an event that says so", async () => {
  // given
  const server = await startAudited({ policy: `${HEAD}rules: [{level: Metadata, users: [w]}]\n` })
  const client = newClient(server.server.transportFor({ name: "w", groups: [] }))
  // when
  await new Promise((resolve) => client.watch(ConfigMap, {}, { onEvent: () => undefined, onEnd: resolve }))
  // then
  const lines = await server.end()
  expect(lines.map(({ stage }) => stage)).toEqual(["RequestReceived", "ResponseComplete"])
  expect(lines[1]).toMatchObject({ verb: "watch", responseStatus: { code: 403, reason: "Forbidden" } })
})

test("a long User-Agent is cut", async () => {
  const server = await startAudited()
  await server.ask("GET", "/version", { "user-agent": "a".repeat(1025) })
  expect((await server.end())[0]!["userAgent"]).toBe(`${"a".repeat(1024)}...TRUNCATED`)
})

test("events have the addresses of proxies before that of the connection", async () => {
  const server = await startAudited()
  await server.ask("GET", "/version", { "x-forwarded-for": "192.0.2.1, nonsense, 192.0.2.2", "x-real-ip": "192.0.2.3" })
  expect((await server.end())[0]!["sourceIPs"]).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3", "127.0.0.1"])
})

test("a request that fails by a fault of the server has an event of the stage Panic, with 500", async () => {
  // given a server whose code has a fault
  const broken = (): never => {
    throw new TypeError("undefined is not an object")
  }
  const server = await startAudited({
    policy: `${HEAD}omitStages: [RequestReceived]\nrules: [{level: Metadata, resources: [{resources: [configmaps]}]}]\n`,
    intercept: (pipeline) => ({ ...pipeline, handle: broken }),
  })
  // when
  await server.ask("GET", `${CONFIG_MAPS}/a`, {})
  // then
  const lines = await server.end()
  expect(lines.filter(({ user }) => (user as { username: string }).username === "system:admin")).toMatchObject([
    {
      stage: "Panic",
      responseStatus: {
        status: "Failure",
        reason: "InternalError",
        code: 500,
        message: "APIServer panic'd: undefined is not an object",
      },
    },
  ])
})
