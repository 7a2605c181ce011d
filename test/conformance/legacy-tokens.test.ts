/** Tokens of service accounts in Secrets. Source of the assertions: test/integration/serviceaccount. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "./cluster.ts"

let cluster: ConformanceCluster
const NS = "/api/v1/namespaces/default"
const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
beforeAll(async () => {
  cluster = await startConformanceCluster({ controllers: true })
})
afterAll(() => cluster.stop())

/** Creates a service account with a Secret, and returns the token in it. */
async function tokenOf(name: string): Promise<string> {
  await cluster.post(`${NS}/serviceaccounts`, { metadata: { name } })
  await cluster.post(`${NS}/secrets`, {
    metadata: { name, annotations: { "kubernetes.io/service-account.name": name } },
    type: "kubernetes.io/service-account-token",
  })
  const secret = await cluster.until(`${NS}/secrets/${name}`, (object) => object?.data?.["token"] !== undefined)
  return Buffer.from(secret.data?.["token"] ?? "", "base64").toString()
}
const whoIs = (token: string) => cluster.send("POST", REVIEWS, { body: {}, token })
/** The answer of a TokenReview for an invalid token. */
const errorOf = async (token: string) => {
  const { status } = await cluster.post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token } })
  return status["error"]
}

test("the token authenticates as its account, and its last use is recorded", async () => {
  // given
  const token = await tokenOf("speaker")
  const account = await cluster.get(`${NS}/serviceaccounts/speaker`)

  // when
  const { body, headers } = await whoIs(token)

  // then
  expect(body.status["userInfo"]).toEqual({
    username: "system:serviceaccount:default:speaker",
    uid: account.metadata.uid,
    groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
  })
  expect(headers["warning"]).toBeUndefined()
  const used = await cluster.until(`${NS}/secrets/speaker`, (object) => object?.metadata.labels !== undefined)
  expect(used.metadata.labels?.["kubernetes.io/legacy-token-last-used"]).toMatch(/^\d{4}-\d\d-\d\d$/)
  expect(used.metadata.managedFields?.map(({ manager }) => manager)).toContain("kube-apiserver")
})

test("a token whose account lists its Secret causes a warning to use bound tokens", async () => {
  // given
  const token = await tokenOf("listed")
  await cluster.patch(`${NS}/serviceaccounts/listed`, "merge", { secrets: [{ name: "listed" }] })

  // when
  const { code, headers } = await whoIs(token)

  // then
  expect([code, headers["warning"]]).toEqual([
    201,
    '299 - "Use tokens from the TokenRequest API or manually created secret-based tokens instead of ' +
      'auto-generated secret-based tokens."',
  ])
})

test("a token that is marked invalid is refused until the mark is removed", async () => {
  // given
  const token = await tokenOf("marked")
  const mark = (day: string | null) =>
    cluster.patch(`${NS}/secrets/marked`, "merge", {
      metadata: { labels: { "kubernetes.io/legacy-token-invalid-since": day } },
    })

  // when
  await mark("2026-01-01")

  // then
  expect((await whoIs(token)).code).toBe(401)
  expect(await errorOf(token)).toStartWith(
    "[invalid bearer token, the token in secret default/marked for service account default/marked has been marked invalid. Use " +
      "tokens from the TokenRequest API",
  )
  await mark(null)
  expect((await whoIs(token)).code).toBe(201)
})

test("a token becomes invalid when its Secret has another one, and when its Secret or its account is deleted", async () => {
  // when the Secret holds another token, then
  const replaced = await tokenOf("replaced")
  await cluster.patch(`${NS}/secrets/replaced`, "merge", { data: { token: "eA==" } })
  expect((await whoIs(replaced)).code).toBe(401)
  expect(await errorOf(replaced)).toBe("[invalid bearer token, Token does not match server's copy]")

  // when the Secret is gone, then
  const deleted = await tokenOf("deleted")
  await cluster.send("DELETE", `${NS}/secrets/deleted`)
  expect((await whoIs(deleted)).code).toBe(401)
  expect(await errorOf(deleted)).toBe("[invalid bearer token, Token has been invalidated]")

  // when the account is gone, then
  const orphaned = await tokenOf("orphaned")
  await cluster.send("DELETE", `${NS}/serviceaccounts/orphaned`)
  expect((await whoIs(orphaned)).code).toBe(401)
})

test("a ConfigMap has the date since which the use of tokens is recorded", async () => {
  const { data } = await cluster.get(
    "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking",
  )
  expect(data?.["since"]).toMatch(/^\d{4}-\d\d-\d\d$/)
})
