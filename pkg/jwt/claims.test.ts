import { describe, expect, test } from "bun:test"
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import { realClock } from "../clock/real.ts"
import type { JsonObject } from "./jws.ts"
import { createTokenVerifier, DEFAULT_ISSUER } from "./service-account.ts"
import { newSigningKey, signBytes, signingKey } from "./signing-key.ts"

const NOW = Math.floor(Date.UTC(2026, 0, 1) / 1000)
const key = newSigningKey()
const rsa = signingKey(
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
)
const verifier = createTokenVerifier({ keys: [key, rsa], clock: { ...realClock, now: () => NOW * 1000 } })

const KUBERNETES = {
  namespace: "default",
  serviceaccount: { name: "builder", uid: "u1" },
  pod: { name: "p", uid: "u2" },
}
const CLAIMS = {
  iss: DEFAULT_ISSUER,
  sub: "system:serviceaccount:default:builder",
  aud: [DEFAULT_ISSUER],
  exp: NOW + 3600,
  iat: NOW,
  nbf: NOW,
  jti: "j",
  "kubernetes.io": KUBERNETES,
}
const HEADER = { alg: "ES256", kid: key.keyId }
const base64 = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")

/** Returns a token with any claims, signed with the cluster's own key. */
function signed(claims: unknown, header: JsonObject | string = HEADER, by = key): string {
  const input = `${base64(header)}.${base64(claims)}`
  return `${input}.${signBytes(by, Buffer.from(input)).toString("base64url")}`
}
const verdict = (token: string) => {
  const found = verifier.verify(token)
  return found.ok ? "accepted" : found.reason
}
const [head, body, signature] = signed(CLAIMS).split(".") as [string, string, string]

describe("a token signed with the cluster's key", () => {
  test.each([
    { title: "with all claims of the server", claims: {} },
    { title: "without optional claims", claims: { jti: undefined, nbf: undefined, iat: undefined } },
    { title: "without an expiry, as legacy tokens", claims: { exp: undefined } },
    { title: "with null for absent claims", claims: { jti: null, exp: null } },
    { title: "for one audience, as a string", claims: { aud: DEFAULT_ISSUER } },
    { title: "for no audience", claims: { aud: [] } },
    { title: "with fractional times", claims: { exp: NOW + 0.5, iat: NOW - 0.5 } },
    { title: "with additional claims", claims: { email: "x", "kubernetes.io": { ...KUBERNETES, more: 1 } } },
    { title: "within the leeway of a minute", claims: { exp: NOW - 59, nbf: NOW + 59, iat: NOW + 59 } },
  ])("$title is accepted", ({ claims }) => {
    expect(verdict(signed({ ...CLAIMS, ...claims }))).toBe("accepted")
  })

  test.each([
    { title: "with the subject of a user", claims: { sub: "system:admin" } },
    { title: "with the subject of another account", claims: { sub: "system:serviceaccount:kube-system:builder" } },
    { title: "without a subject", claims: { sub: undefined } },
    { title: "whose subject is a list", claims: { sub: ["system:serviceaccount:default:builder"] } },
    { title: "whose expiry is a string", claims: { exp: String(NOW + 3600) } },
    { title: "whose expiry is an object", claims: { exp: {} } },
    { title: "whose nbf is a string", claims: { nbf: "0" } },
    { title: "whose nbf is true", claims: { nbf: true } },
    { title: "whose iat is a string", claims: { iat: "0" } },
    { title: "whose jti is a number", claims: { jti: 1 } },
    { title: "whose audience is a number", claims: { aud: 1 } },
    { title: "whose audiences are numbers", claims: { aud: [1] } },
    { title: "whose audiences contain a number", claims: { aud: [DEFAULT_ISSUER, 1] } },
    { title: "whose audiences are an object", claims: { aud: { 0: DEFAULT_ISSUER } } },
    { title: "without the claim kubernetes.io", claims: { "kubernetes.io": undefined } },
    { title: "whose claim kubernetes.io is a list", claims: { "kubernetes.io": [KUBERNETES] } },
    { title: "without a namespace", claims: { "kubernetes.io": { ...KUBERNETES, namespace: undefined } } },
    { title: "whose namespace is a list", claims: { "kubernetes.io": { ...KUBERNETES, namespace: ["default"] } } },
    { title: "without a service account", claims: { "kubernetes.io": { ...KUBERNETES, serviceaccount: undefined } } },
    {
      title: "whose service account is a string",
      claims: { "kubernetes.io": { ...KUBERNETES, serviceaccount: "builder" } },
    },
    { title: "whose pod is a string", claims: { "kubernetes.io": { ...KUBERNETES, pod: "p" } } },
    {
      title: "whose pod's uid is a number",
      claims: { "kubernetes.io": { ...KUBERNETES, pod: { name: "p", uid: 2 } } },
    },
    { title: "whose node is a list", claims: { "kubernetes.io": { ...KUBERNETES, node: [] } } },
    { title: "whose warnafter is a string", claims: { "kubernetes.io": { ...KUBERNETES, warnafter: "1" } } },
  ])("$title is refused", ({ claims }) => {
    expect(verdict(signed({ ...CLAIMS, ...claims }))).toBe("bad claims")
  })

  test.each([
    { title: "has expired", claims: { exp: NOW - 61 }, reason: "expired" },
    { title: "has expired long ago", claims: { exp: 0 }, reason: "expired" },
    { title: "is not valid yet", claims: { nbf: NOW + 61 }, reason: "not yet valid" },
    { title: "is issued in the future", claims: { iat: NOW + 61 }, reason: "not yet valid" },
    { title: "is for another audience", claims: { aud: ["vault"] }, reason: "wrong audience" },
    { title: "is from another issuer", claims: { iss: "https://elsewhere" }, reason: "unknown issuer" },
    { title: "has a list as issuer", claims: { iss: [DEFAULT_ISSUER] }, reason: "unknown issuer" },
  ])("that $title is refused", ({ claims, reason }) => {
    expect(verdict(signed({ ...CLAIMS, ...claims }))).toBe(reason as "expired")
  })

  test.each([
    { title: "a critical extension", header: { ...HEADER, crit: ["exp"], exp: 1 } },
    { title: "an empty list of critical extensions", header: { ...HEADER, crit: [] } },
    { title: "an unencoded payload", header: { ...HEADER, crit: ["b64"], b64: false } },
    { title: "critical extensions that are null", header: { ...HEADER, crit: null } },
  ])("whose header has $title is refused", ({ header }) => {
    expect(verdict(signed(CLAIMS, header))).toBe("malformed")
  })

  test.each([
    { title: "a header that is a list", token: signed(CLAIMS, "[]") },
    { title: "a payload that is a list", token: signed([CLAIMS]) },
    { title: "a payload that is no JSON", token: signed("{") },
    {
      title: "a payload that is no UTF-8",
      token: `${head}.${Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString("base64url")}.${signature}`,
    },
    { title: "padding", token: `${head}.${body}.${signature}==` },
    { title: "a line break", token: `${head}.${body}.${signature}\n` },
    {
      title: "characters of the base64 alphabet that base64url replaces",
      token: `${head}.${body}.${signature.slice(0, -1)}+`,
    },
    { title: "four parts", token: `${head}.${body}.${signature}.` },
    { title: "five parts", token: `${head}.${body}.${signature}.${signature}.${signature}` },
    { title: "no signature", token: `${head}.${body}.` },
    { title: "the JSON serialization", token: JSON.stringify({ protected: head, payload: body, signature }) },
  ])("with $title is malformed", ({ token }) => {
    expect(verdict(token)).toBe("malformed")
  })
})

describe("the signature of a token", () => {
  const publicPem = key.publicKey.export({ type: "spki", format: "pem" }).toString()
  const with_ = (header: JsonObject, signer: (input: Buffer) => Buffer) => {
    const input = `${base64(header)}.${body}`
    return `${input}.${signer(Buffer.from(input)).toString("base64url")}`
  }
  const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" })
  test.each([
    { title: "with alg none", token: with_({ ...HEADER, alg: "none" }, () => Buffer.from("x")) },
    { title: "with alg None", token: with_({ ...HEADER, alg: "None" }, () => Buffer.alloc(64)) },
    {
      title: "by HMAC with the public key as the secret",
      token: with_({ ...HEADER, alg: "HS256" }, (input) => createHmac("sha256", publicPem).update(input).digest()),
    },
    {
      title: "with a key from the token's own header",
      token: with_({ ...HEADER, jwk: { ...stranger.publicKey.export({ format: "jwk" }) } as JsonObject }, (input) =>
        sign("sha256", input, { key: stranger.privateKey, dsaEncoding: "ieee-p1363" }),
      ),
    },
    {
      title: "with the algorithm of another of the cluster's keys",
      token: with_({ alg: "RS256", kid: key.keyId }, (input) => signBytes(rsa, input)),
    },
    {
      title: "in DER encoding",
      token: with_(HEADER, (input) => sign("sha256", input, key.privateKey)),
    },
    { title: "of zeros", token: with_(HEADER, () => Buffer.alloc(64)) },
    { title: "that is too short", token: with_(HEADER, (input) => signBytes(key, input).subarray(0, 63)) },
    {
      title: "that is too long",
      token: with_(HEADER, (input) => Buffer.concat([signBytes(key, input), Buffer.alloc(1)])),
    },
    { title: "with another digest", token: with_({ ...HEADER, alg: "ES384" }, (input) => signBytes(key, input)) },
    {
      title: "with a list as alg",
      token: with_({ ...HEADER, alg: ["ES256"] }, (input) => signBytes(key, input)),
    },
    { title: "without alg", token: with_({ kid: key.keyId }, (input) => signBytes(key, input)) },
  ])("$title is refused", ({ token }) => {
    expect(verdict(token)).toBe("bad signature")
  })

  test.each([{ kid: "x" }, { kid: 1 }, { kid: ["x"] }, { kid: {} }])("is refused if the header has %p", (more) => {
    expect(verdict(signed(CLAIMS, { ...HEADER, ...more }))).toBe("unknown key")
  })

  test("is verified with each of the cluster's keys if the header has no kid", () => {
    expect(verdict(signed(CLAIMS, { alg: "ES256" }))).toBe("accepted")
    expect(verdict(signed(CLAIMS, { alg: "RS256" }, rsa))).toBe("accepted")
  })
})
