import { afterEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { awaitedLog } from "../../../../pkg/log/awaited-log.fixtures.ts"
import { json, startHttpServer } from "../../serving/http-server.fixtures.ts"
import { startWebhook, type Reply, type StartedWebhook } from "../../webhooks/kubeconfig-webhook.fixtures.ts"

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

interface Spec {
  readonly user: string
  readonly groups: readonly string[]
  readonly resourceAttributes?: Readonly<Record<string, unknown>>
  readonly nonResourceAttributes?: Readonly<Record<string, string>>
}

const status = (body: object): Reply => ({
  body: JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", status: body }),
})
const ALLOWED = status({ allowed: true })
const DENIED = status({ allowed: false, denied: true, reason: "the webhook said no" })
const NO_OPINION = status({ allowed: false, reason: "do not know" })

async function webhookOf(reply: (spec: Spec, call: number) => Reply): Promise<StartedWebhook> {
  const webhook = await startWebhook((body, call) => reply((body as { spec: Spec }).spec, call))
  cleanUps.push(() => webhook.stop())
  return webhook
}

const authorizer = (name: string, { kubeconfig }: StartedWebhook, more: object = {}) => ({
  type: "Webhook",
  name,
  webhook: {
    timeout: "10s",
    subjectAccessReviewVersion: "v1",
    failurePolicy: "NoOpinion",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile: kubeconfig },
    ...more,
  },
})
const NODE = { type: "Node", name: "node" }
const RBAC = { type: "RBAC", name: "rbac" }
const textOf = (authorizers: readonly object[]): string =>
  JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration", authorizers })

/** A server with these authorizers, and with the users jane (of the group dev) and joe, who has no rights by RBAC. */
async function serverWith(authorizers: readonly object[]) {
  const dir = mkdtempSync(join(tmpdir(), "authorization-"))
  const [file, tokenFile] = [join(dir, "authorization.yaml"), join(dir, "tokens.csv")]
  writeFileSync(file, textOf(authorizers))
  writeFileSync(tokenFile, "of-jane,jane,1,dev\nof-joe,joe,2\n")
  const log = awaitedLog()
  const server = await startHttpServer({ authorization: { file }, signIn: { tokenFile } }, undefined, log.log)
  cleanUps.push(
    () => rmSync(dir, { recursive: true }),
    () => server.stop(),
  )
  await server.call(
    "POST",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    json({
      metadata: { name: "jane" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "User", name: "jane", apiGroup: "rbac.authorization.k8s.io" }],
    }),
  )
  const get = async (user: "jane" | "joe", path = "/api/v1/namespaces/default/configmaps") => {
    const { code, text } = await server.call("GET", path, { token: `of-${user}` })
    return code === 200 ? code : `${code} ${(JSON.parse(text) as { message: string }).message}`
  }
  return { ...server, file, get, line: log.line }
}

const CANNOT =
  'configmaps is forbidden: User "joe" cannot list resource "configmaps" in API group "" in the namespace "default"'

describe("a webhook that authorizes", () => {
  test("allows and denies before RBAC is asked, and leaves to RBAC what it has no opinion about", async () => {
    // given a webhook that allows joe, denies jane the Secrets, and knows nothing else
    const webhook = await webhookOf(({ user, resourceAttributes }) =>
      user === "joe" ? ALLOWED : resourceAttributes?.["resource"] === "secrets" ? DENIED : NO_OPINION,
    )
    const { get, call } = await serverWith([authorizer("hook", webhook), NODE, RBAC])

    // then it decides
    expect(await get("joe")).toBe(200)
    expect(await get("jane")).toBe(200)
    expect(await get("jane", "/api/v1/namespaces/default/secrets")).toBe(
      '403 secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "default": ' +
        "the webhook said no",
    )
    expect(await get("jane", "/metrics")).toContain("403 ")
    // and the administrator's requests are not its business
    expect((await call("GET", "/api/v1/secrets")).code).toBe(200)
    const users = webhook.sent.map(({ body }) => (body as { spec: Spec }).spec)
    expect(users.some(({ groups }) => groups.includes("system:masters"))).toBe(false)
    expect(webhook.sent[0]).toMatchObject({
      authorization: "Bearer secret-of-the-webhook",
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: "joe",
          uid: "2",
          groups: ["system:authenticated"],
          resourceAttributes: { verb: "list", version: "v1", resource: "configmaps", namespace: "default" },
        },
      },
    })
  })

  test("is asked only about requests that meet its conditions, and sees selectors", async () => {
    const webhook = await webhookOf(() => ALLOWED)
    const { get } = await serverWith([
      authorizer("hook", webhook, {
        matchConditionSubjectAccessReviewVersion: "v1",
        matchConditions: [
          { expression: "has(request.resourceAttributes)" },
          { expression: "request.resourceAttributes.namespace == 'default' && request.user == 'joe'" },
        ],
      }),
      NODE,
      RBAC,
    ])
    expect(await get("joe", "/metrics")).toContain("403 ")
    expect(await get("joe", "/api/v1/configmaps")).toContain("403 ")
    expect(await get("jane")).toBe(200)
    expect(webhook.sent).toHaveLength(0)
    const query = "?fieldSelector=metadata.name%3Da&labelSelector=app+in+(a,b),!old"
    expect(await get("joe", `/api/v1/namespaces/default/configmaps${query}`)).toBe(200)
    expect(webhook.sent[0]!.body).toMatchObject({
      spec: {
        resourceAttributes: {
          name: "a",
          fieldSelector: { requirements: [{ key: "metadata.name", operator: "In", values: ["a"] }] },
          labelSelector: {
            requirements: [
              { key: "app", operator: "In", values: ["a", "b"] },
              { key: "old", operator: "DoesNotExist" },
            ],
          },
        },
      },
    })
  })

  test("sees the selectors of an access review", async () => {
    // given a review with selectors, of which one has an operator that is not known
    const webhook = await webhookOf(() => ALLOWED)
    const { call } = await serverWith([authorizer("hook", webhook), NODE, RBAC])
    const requirements = [
      { key: "app", operator: "In", values: ["a", "b"] },
      { key: "gone", operator: "DoesNotExist" },
      { key: "team", operator: "Exists" },
      { key: "tier", operator: "NotIn", values: ["old"] },
    ]
    const not = { key: "x", operator: "Like", values: ["a"] }
    const resourceAttributes = {
      verb: "list",
      resource: "pods",
      fieldSelector: { requirements: [{ key: "spec.nodeName", operator: "In", values: ["n1"] }] },
      labelSelector: { requirements: [...requirements, not] },
    }

    // when
    const review = json({ spec: { user: "joe", resourceAttributes } })
    expect(await call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)).toMatchObject({
      code: 201,
    })

    // then the webhook sees the others
    expect(webhook.sent.map(({ body }) => (body as { spec: Spec }).spec.resourceAttributes)).toEqual([
      { ...resourceAttributes, labelSelector: { requirements } },
    ])
  })

  test("is asked once about equal requests, as long as its answer counts", async () => {
    const webhook = await webhookOf(() => ALLOWED)
    const { get } = await serverWith([authorizer("hook", webhook), NODE, RBAC])
    await Promise.all(Array.from({ length: 10 }, () => get("joe")))
    expect(await get("joe")).toBe(200)
    expect(webhook.sent).toHaveLength(1)

    const other = await webhookOf(() => ALLOWED)
    const uncached = await serverWith([authorizer("hook", other, { cacheAuthorizedRequests: false }), NODE, RBAC])
    await uncached.get("joe")
    await uncached.get("joe")
    expect(other.sent).toHaveLength(2)
  })

  test.each([
    ["no JSON", { body: "yes" }],
    ["another kind", { body: JSON.stringify({ apiVersion: "v1", kind: "Status", status: { allowed: true } }) }],
    ["true as a text", status({ allowed: "true" })],
    ["a permission and a refusal", status({ allowed: true, denied: true })],
    ["an error", { code: 403, body: "no" }],
    ["four megabytes", { body: "x".repeat(4_000_000) }],
  ] as readonly (readonly [string, Reply])[])("that answers with %s allows nothing", async (_what, reply) => {
    const webhook = await webhookOf(() => reply)
    const { get } = await serverWith([authorizer("hook", webhook), NODE, RBAC])
    expect(await get("joe")).toMatch(/^500 Internal error occurred: /)
  })

  test("that fails leaves requests to RBAC, or denies all, as its failurePolicy says", async () => {
    const webhook = await webhookOf(() => ({ code: 403, body: "no" }))
    const open = await serverWith([authorizer("hook", webhook), NODE, RBAC])
    expect(await open.get("jane")).toBe(200)
    const closed = await serverWith([authorizer("hook", webhook, { failurePolicy: "Deny" }), NODE, RBAC])
    expect(await closed.get("jane")).toMatch(/^500 /)
    expect((await closed.call("GET", "/api/v1/configmaps")).code).toBe(200)
  })

  test("that hangs holds up only requests that it must decide about", async () => {
    const webhook = await webhookOf(() => ({ hangs: true }))
    const { get, call } = await serverWith([
      NODE,
      RBAC,
      authorizer("hook", webhook, { timeout: "1s", failurePolicy: "Deny" }),
    ])
    const waiting = get("joe")
    await webhook.calls(1)
    expect(await Promise.race([waiting, get("jane")])).toBe(200)
    expect((await call("GET", "/readyz")).code).toBe(200)
    expect(await waiting).toMatch(/^500 .*context deadline exceeded/)
  })

  test("is asked also where rights are only a part of the answer", async () => {
    // given a webhook that lets joe act as jane, write roles and bindings, and read what a policy asks about
    const may = new Set([
      "impersonate users",
      "escalate clusterroles",
      "create clusterroles",
      "post dogs",
      "create configmaps",
    ])
    const webhook = await webhookOf(({ user, resourceAttributes: { verb, resource } = {} }) =>
      user === "joe" && may.has(`${String(verb)} ${String(resource)}`) ? ALLOWED : NO_OPINION,
    )
    const { call } = await serverWith([authorizer("hook", webhook), NODE, RBAC])
    const role = (name: string) => ({
      metadata: { name },
      rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }],
    })
    const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    const asJoe = async (method: string, path: string, body: object, headers = {}) => {
      const { code, text } = await call(method, path, {
        token: "of-joe",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      })
      return { code, object: JSON.parse(text) as Readonly<Record<string, unknown>> }
    }

    // then he acts as jane, and nobody else acts as him
    const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    expect((await asJoe("POST", self, {}, { "impersonate-user": "jane" })).object).toMatchObject({
      status: { userInfo: { username: "jane" } },
    })
    // and writes a role with rights that he has not, until he may not escalate
    expect((await asJoe("POST", roles, role("a"))).code).toBe(201)
    may.delete("escalate clusterroles")
    expect((await asJoe("POST", roles, role("b"))).code).toBe(403)
    // and an access review asks it
    const access = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    const review = (verb: string) => ({ spec: { user: "joe", resourceAttributes: { verb, resource: "dogs" } } })
    expect(JSON.parse((await call("POST", access, json(review("post")))).text)).toMatchObject({
      status: { allowed: true },
    })
    expect(JSON.parse((await call("POST", access, json(review("get")))).text)).toMatchObject({
      status: { allowed: false },
    })
    // and a list of his rights is not complete, since the webhook lists none
    const rights = await asJoe("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
      spec: { namespace: "a" },
    })
    expect(rights.object).toMatchObject({
      status: { incomplete: true, evaluationError: "webhook authorizer does not support user rule resolution" },
    })
    // and so does an expression of an admission policy
    const policies = "/apis/admissionregistration.k8s.io/v1"
    await call(
      "POST",
      `${policies}/validatingadmissionpolicies`,
      json({
        metadata: { name: "dogs" },
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
            ],
          },
          validations: [{ expression: "authorizer.group('').resource('dogs').check(object.data.verb).allowed()" }],
        },
      }),
    )
    await call(
      "POST",
      `${policies}/validatingadmissionpolicybindings`,
      json({ metadata: { name: "dogs" }, spec: { policyName: "dogs", validationActions: ["Deny"] } }),
    )
    const configMap = (verb: string) => ({ metadata: { name: verb }, data: { verb } })
    const configMaps = "/api/v1/namespaces/default/configmaps"
    expect((await asJoe("POST", configMaps, configMap("post"))).code).toBe(201)
    expect((await asJoe("POST", configMaps, configMap("get"))).code).toBe(422)
  })

  test("is replaced with its file, and stays where the new file is wrong", async () => {
    // given a webhook that allows joe
    const [first, second] = [await webhookOf(() => ALLOWED), await webhookOf(() => DENIED)]
    const { get, file, line } = await serverWith([NODE, RBAC, authorizer("first", first)])
    expect(await get("joe")).toBe(200)

    // when the file names another one
    writeFileSync(file, textOf([NODE, RBAC, authorizer("second", second)]))
    await line(/Loaded the changed authorization configuration/)

    // then what the first one has allowed counts no longer
    expect(await get("joe")).toBe(`403 ${CANNOT}: the webhook said no`)

    // when the file leaves out RBAC, without which the server did not start
    writeFileSync(file, textOf([NODE, authorizer("first", first)]))
    expect(await line(/Failed to load the changed authorization configuration/)).toContain(
      "authorization.yaml:1: authorizers: Required value: missing required types: [RBAC]",
    )

    // then the file before it counts
    expect(await get("jane")).toBe(200)
    expect(await get("joe")).toContain("403 ")
  })
})
