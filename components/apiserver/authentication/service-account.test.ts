import { describe, expect, test } from "bun:test"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { createTokenIssuer, createTokenVerifier, type TokenRequest } from "../../../pkg/jwt/service-account.ts"
import { newSigningKey } from "../../../pkg/jwt/signing-key.ts"
import { createAuthenticator } from "./authenticator.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import { createServiceAccountTokens } from "./service-account.ts"

const NOW = Date.UTC(2026, 0, 1)
const key = newSigningKey()
const SUBJECT = "system:serviceaccount:default:builder"
const REQUEST: TokenRequest = {
  namespace: "default",
  serviceAccount: { name: "builder", uid: "u1" },
  audiences: ["https://kubernetes.default.svc.cluster.local"],
  expirationSeconds: 24 * 3600,
}

/**
 * Issues a token at NOW and authenticates with it `later` seconds later. Returns the user and the audit annotations.
 */
function asked(
  request: Partial<TokenRequest>,
  { later = 0, objects = { "serviceaccounts/builder": { uid: "u1" } } as Readonly<Record<string, object>> } = {},
) {
  const clockAt = (now: number) => ({ ...realClock, now: () => now })
  const { token } = createTokenIssuer({ key, clock: clockAt(NOW), random: seededRandom(1) }).issue({
    ...REQUEST,
    ...request,
  })
  const now = NOW + later * 1000
  const get = ({ plural }: Resource, { name }: { readonly name?: string }) => {
    const metadata = objects[`${plural}/${name}`]
    return metadata === undefined ? undefined : { apiVersion: "v1", kind: "Any", metadata }
  }
  const tokens = createServiceAccountTokens({
    verifier: createTokenVerifier({ keys: [key], clock: clockAt(now) }),
    objects: { get } as unknown as ObjectReader,
    now: () => now,
  })
  const annotations: Record<string, string> = {}
  const user = createAuthenticator({ tokens: [tokens], meaningOf: () => undefined, now: () => now }).authenticate({
    certificate: undefined,
    authorization: `Bearer ${token}`,
    isWebSocket: false,
    header: () => [],
    headerNames: () => [],
    path: "/api",
    annotate: (key, value) => void (annotations[key] = value),
  })
  return { user, annotations }
}

describe("the audit event of a request says of its token", () => {
  test("nothing for a current token", () => {
    expect(asked({ warnAfterSeconds: 3600 }, { later: 3600 })).toMatchObject({
      user: { name: SUBJECT },
      annotations: {},
    })
  })

  test("that the client should have used a newer token", () => {
    expect(asked({ warnAfterSeconds: 3600 }, { later: 3700 }).annotations).toEqual({
      "authentication.k8s.io/stale-token": `subject: ${SUBJECT}, seconds after warning threshold: 100`,
    })
  })

  test("that it is a legacy token without an audience", () => {
    expect(asked({ audiences: [] }).annotations).toEqual({ "authentication.k8s.io/legacy-token": SUBJECT })
  })
})

const POD = { pod: { name: "p", uid: "u2" }, node: { name: "n", uid: "u3" } }
const ACCOUNT = { "serviceaccounts/builder": { uid: "u1" } }
const deleted = (secondsAgo: number) => new Date(NOW - secondsAgo * 1000).toISOString()

test.each([
  { what: "an account that does not exist", request: {}, objects: {} },
  { what: "an account with another uid", request: {}, objects: { "serviceaccounts/builder": { uid: "u9" } } },
  {
    what: "an account that was deleted a while ago",
    request: {},
    objects: { "serviceaccounts/builder": { uid: "u1", deletionTimestamp: deleted(61) } },
  },
  { what: "a pod that does not exist", request: POD, objects: ACCOUNT },
  { what: "a pod with another uid", request: POD, objects: { ...ACCOUNT, "pods/p": { uid: "u9" } } },
  { what: "a node that does not exist", request: { node: POD.node }, objects: ACCOUNT },
  {
    what: "a node without its uid",
    request: { node: { name: "n" } },
    objects: { ...ACCOUNT, "nodes/n": { uid: "u3" } },
  },
  { what: "a secret that does not exist", request: { secret: { name: "s", uid: "u4" } }, objects: ACCOUNT },
])("a token that names $what is refused", ({ request, objects }) => {
  expect(() => asked(request, { objects })).toThrow("Unauthorized")
})

test("a token gives its user the names of its pod and node as extra values", () => {
  const objects = { ...ACCOUNT, "pods/p": { uid: "u2", deletionTimestamp: deleted(59) } }
  expect(asked(POD, { objects }).user).toMatchObject({
    name: SUBJECT,
    uid: "u1",
    extra: {
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": ["u2"],
      "authentication.kubernetes.io/node-name": ["n"],
      "authentication.kubernetes.io/node-uid": ["u3"],
    },
  })
})
