import { afterAll, beforeAll, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { parseCompact, type JsonObject } from "../../pkg/jwt/jws.ts"
import { DEFAULT_ISSUER } from "../../pkg/jwt/service-account.ts"
import { loadOrCreateSigningKey, signBytes, type SigningKey } from "../../pkg/jwt/signing-key.ts"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, makeIdentities, NAMESPACE, POD } from "./identities.ts"

let server: TestServer
let identities: Identities
/** The cluster's own signing key: a token that even its holder cannot forge, nobody can forge. */
let key: SigningKey
/** The token of the pod, as the server made it. */
let issued: string
let claims: JsonObject

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
  key = loadOrCreateSigningKey(join(server.dataDir, "server/tls/service.key"))
  issued = identities.pod.headers["authorization"]!.slice("Bearer ".length)
  claims = parseCompact(issued)!.payload
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const part = (value: JsonObject) => Buffer.from(JSON.stringify(value)).toString("base64url")
function signed(more: JsonObject, header: JsonObject = {}): string {
  const input = `${part({ alg: key.algorithm, kid: key.keyId, ...header })}.${part({ ...claims, ...more })}`
  return `${input}.${signBytes(key, Buffer.from(input)).toString("base64url")}`
}
/** Returns the user whom the server authenticates by a token, or the code of the refusal. */
async function judged(token: string): Promise<string | number> {
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const { status, body } = await server.raw("POST", path, headers, "{}")
  if (status !== 201) return status
  return (JSON.parse(body.toString()) as { status: { userInfo: { username: string } } }).status.userInfo.username
}
const bound = () => claims["kubernetes.io"] as JsonObject

const FORGERIES: readonly { readonly title: string; readonly token: () => string }[] = [
  { title: "whose subject is the administrator", token: () => signed({ sub: "system:admin" }) },
  { title: "whose subject is a node", token: () => signed({ sub: "system:node:node-a" }) },
  { title: "whose subject is another account", token: () => signed({ sub: "system:serviceaccount:kube-system:x" }) },
  {
    title: "of an account that does not exist",
    token: () =>
      signed({
        sub: `system:serviceaccount:${NAMESPACE}:other`,
        "kubernetes.io": { ...bound(), serviceaccount: { name: "other", uid: "u" } },
      }),
  },
  {
    title: "of an account with another uid",
    token: () => signed({ "kubernetes.io": { ...bound(), serviceaccount: { name: POD, uid: "u" } } }),
  },
  {
    title: "of an account without uid",
    token: () => signed({ "kubernetes.io": { ...bound(), serviceaccount: { name: POD } } }),
  },
  {
    title: "bound to a pod that does not exist",
    token: () => signed({ "kubernetes.io": { ...bound(), pod: { name: "other", uid: "u" } } }),
  },
  {
    title: "bound to a pod with another uid",
    token: () => signed({ "kubernetes.io": { ...bound(), pod: { name: POD, uid: "u" } } }),
  },
  {
    title: "bound to a node without uid",
    token: () => signed({ "kubernetes.io": { ...bound(), pod: undefined, node: { name: "node-a" } } }),
  },
  {
    title: "bound to a secret that does not exist",
    token: () => signed({ "kubernetes.io": { ...bound(), secret: { name: "other", uid: "u" } } }),
  },
  { title: "whose expiry is a string", token: () => signed({ exp: "99999999999" }) },
  { title: "that has expired", token: () => signed({ exp: Math.floor(Date.now() / 1000) - 120 }) },
  { title: "that is not valid yet", token: () => signed({ nbf: Math.floor(Date.now() / 1000) + 120 }) },
  { title: "that is issued in the future", token: () => signed({ iat: Math.floor(Date.now() / 1000) + 120 }) },
  { title: "for another audience", token: () => signed({ aud: ["vault"] }) },
  { title: "of another issuer", token: () => signed({ iss: "https://elsewhere" }) },
  { title: "with a critical extension", token: () => signed({}, { crit: ["exp"], exp: 1 }) },
  { title: "with an unencoded payload", token: () => signed({}, { crit: ["b64"], b64: false }) },
  { title: "that names no known key", token: () => signed({}, { kid: "other" }) },
  { title: "that names another algorithm", token: () => signed({}, { alg: "RS256" }) },
  { title: "without algorithm", token: () => `${part({ alg: "none" })}.${issued.split(".")[1]}.` },
  {
    title: "signed with the public key as a secret",
    token: () => {
      const input = `${part({ alg: "HS256", kid: key.keyId })}.${issued.split(".")[1]}`
      const secret = key.publicKey.export({ type: "spki", format: "pem" })
      return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`
    },
  },
]

test("the token of a pod authenticates as the pod's service account", async () => {
  expect(await judged(issued)).toBe(identities.pod.user)
  expect(await judged(signed({ aud: [DEFAULT_ISSUER, "vault"] }))).toBe(identities.pod.user)
})

test.each(FORGERIES)("a token $title is refused", async ({ token }) => {
  expect(await judged(token())).toBe(401)
})

test.each(FORGERIES)("a TokenReview of a token $title says that it is invalid", async ({ token }) => {
  const { status, body } = await identities.administrator.request(
    "POST",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    { body: { spec: { token: token() } } },
  )
  expect(status).toBe(201)
  const review = JSON.parse(body.toString()) as { status: { authenticated?: boolean; user?: object } }
  expect(review.status.authenticated ?? false).toBe(false)
  expect(review.status.user ?? {}).toEqual({})
})

test("a token is invalid once its pod is deleted", async () => {
  // given
  const pods = `/api/v1/namespaces/${NAMESPACE}/pods`
  expect(await judged(issued)).toBe(identities.pod.user)

  // when
  await identities.administrator.request("DELETE", `${pods}/${POD}?gracePeriodSeconds=0`)

  // then
  expect(await judged(issued)).toBe(401)
})
