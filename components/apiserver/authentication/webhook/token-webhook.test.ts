import { afterEach, describe, expect, test } from "bun:test"
import { json, startHttpServer } from "../../serving/http-server.fixtures.ts"
import { startWebhook, type Reply } from "../../webhooks/kubeconfig-webhook.fixtures.ts"

const SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

interface Review {
  readonly apiVersion: string
  readonly spec: { readonly token: string; readonly audiences: readonly string[] }
}

const status = (body: object, version = "v1"): Reply => ({
  body: JSON.stringify({ apiVersion: `authentication.k8s.io/${version}`, kind: "TokenReview", status: body }),
})
const KNOWN = {
  authenticated: true,
  user: { username: "jane", uid: "7", groups: ["dev"], extra: { "acme.com/team": ["blue"] } },
}

async function serverWith(
  reply: (review: Review, call: number) => Reply,
  { version = "v1" as "v1" | "v1beta1", cacheMs = 120_000 } = {},
) {
  const webhook = await startWebhook((body, call) => reply(body as Review, call))
  const server = await startHttpServer({ signIn: { webhook: { file: webhook.kubeconfig, version, cacheMs } } })
  cleanUps.push(
    () => webhook.stop(),
    () => server.stop(),
  )
  const whoIs = async (token: string) => {
    const { code, text } = await server.call("POST", SELF, { ...json({}), token })
    return code === 201
      ? (JSON.parse(text) as { status: { userInfo: Readonly<Record<string, unknown>> } }).status.userInfo
      : code
  }
  return { ...server, webhook, whoIs }
}

describe("a webhook that authenticates tokens", () => {
  test.each(["v1", "v1beta1"] as const)("is sent a TokenReview of %s, and its answer is the user", async (version) => {
    // given a webhook that knows one token
    const { whoIs, webhook, adminToken } = await serverWith(
      ({ spec }) => status(spec.token === "known" ? KNOWN : { authenticated: false, error: "who?" }, version),
      { version },
    )

    // then that token has its user, another has none, and the server's own tokens are not sent
    expect(await whoIs("known")).toEqual({
      username: "jane",
      uid: "7",
      groups: ["dev", "system:authenticated"],
      extra: { "acme.com/team": ["blue"] },
    })
    expect(await whoIs("other")).toBe(401)
    expect(await whoIs(adminToken)).toMatchObject({ username: "system:admin" })
    expect(webhook.sent.map(({ body }) => body)).toEqual(
      ["known", "other"].map((token) => ({
        apiVersion: `authentication.k8s.io/${version}`,
        kind: "TokenReview",
        metadata: {},
        spec: { token, audiences: ["https://kubernetes.default.svc.cluster.local"] },
      })),
    )
  })

  test("is asked once for requests with the same token, and again only when its answer is old", async () => {
    const { whoIs, webhook } = await serverWith(() => status(KNOWN))
    await Promise.all(Array.from({ length: 10 }, () => whoIs("known")))
    await whoIs("known")
    expect(webhook.sent).toHaveLength(1)

    const uncached = await serverWith(() => status(KNOWN), { cacheMs: 0 })
    await uncached.whoIs("known")
    await uncached.whoIs("known")
    expect(uncached.webhook.sent).toHaveLength(2)
  })

  test.each([
    ["no JSON", { body: "yes" }],
    ["a list", { body: "[]" }],
    ["another kind", { body: JSON.stringify({ apiVersion: "v1", kind: "Status", status: KNOWN }) }],
    ["another version", status(KNOWN, "v1beta1")],
    [
      "a user whose groups are a text",
      status({ authenticated: true, user: { username: "a", groups: "system:masters" } }),
    ],
    ["a user who is a text", status({ authenticated: true, user: "system:admin" })],
    ["true as a text", status({ ...KNOWN, authenticated: "true" })],
    ["other audiences", status({ ...KNOWN, audiences: ["vault"] })],
    ["an error", { code: 403, body: "no" }],
    ["four megabytes", { body: "x".repeat(4_000_000) }],
  ] as readonly (readonly [string, Reply])[])("that answers with %s authenticates nobody", async (_what, reply) => {
    const { whoIs } = await serverWith(() => reply)
    expect(await whoIs("known")).toBe(401)
  })

  test("that hangs holds up only requests with tokens that it must decide about", async () => {
    const { whoIs, webhook, adminToken } = await serverWith(() => ({ hangs: true }))
    const waiting = whoIs("known")
    await webhook.calls(1)
    expect(await Promise.race([waiting, whoIs(adminToken)])).toMatchObject({ username: "system:admin" })
    webhook.stop()
    expect(await waiting).toBe(401)
    cleanUps.shift()
  })
})
