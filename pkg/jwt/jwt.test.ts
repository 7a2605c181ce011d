import { describe, expect, test } from "bun:test"
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { mkdtempSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createLocalJWKSet, decodeJwt, importPKCS8, jwtVerify, SignJWT } from "jose"
import type { Clock } from "../clock/clock.ts"
import { seededRandom } from "../clock/random.ts"
import { jwks, openIdConfiguration } from "./discovery.ts"
import { KnownIssuers } from "./known-issuers.ts"
import { createLegacyTokenVerifier, signLegacyToken } from "./legacy-token.ts"
import { createTokenIssuer, createTokenVerifier, DEFAULT_ISSUER, type TokenRequest } from "./service-account.ts"
import { loadOrCreateSigningKey, newSigningKey, seededSigningKey, signingKey } from "./signing-key.ts"

const NOW = Date.UTC(2026, 0, 1)
const at = (now: number): Clock => ({
  now: () => now,
  monotonic: () => 0,
  setTimeout: () => ({ cancel() {} }),
  afterTurn() {},
  atRest() {},
})
const key = newSigningKey()
const request: TokenRequest = {
  namespace: "default",
  serviceAccount: { name: "builder", uid: "u1" },
  audiences: [DEFAULT_ISSUER, "vault"],
  expirationSeconds: 3600,
  pod: { name: "p", uid: "u2" },
  node: { name: "n", uid: "u3" },
  warnAfterSeconds: 3607,
}
const issue = (over: Partial<TokenRequest> = {}, signer = key) =>
  createTokenIssuer({ key: signer, clock: at(NOW), random: seededRandom(1) }).issue({ ...request, ...over })
const verify = (
  token: string,
  { now = NOW, audiences, keys = [key] }: { now?: number; audiences?: string[]; keys?: (typeof key)[] } = {},
) => createTokenVerifier({ keys, clock: at(now) }).verify(token, audiences)

describe("a service account token", () => {
  test("is signed when it is first read, and stays the same", () => {
    // given a key that cannot sign
    const issued = issue({}, {} as typeof key)
    expect(issued.expiresAt).toBe(NOW + 3600_000)
    expect(() => issued.token).toThrow()
    // and a good one
    const good = issue()
    expect(good.token).toBe(good.token)
  })

  test("contains its subject, its bound objects and its expiry", () => {
    const { token, expiresAt, id } = issue()
    expect(expiresAt).toBe(NOW + 3600_000)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(verify(token)).toEqual({
      ok: true,
      audiences: [DEFAULT_ISSUER],
      claims: {
        issuer: DEFAULT_ISSUER,
        subject: "system:serviceaccount:default:builder",
        audiences: [DEFAULT_ISSUER, "vault"],
        id,
        issuedAt: NOW / 1000,
        notBefore: NOW / 1000,
        expiresAt: NOW / 1000 + 3600,
        namespace: "default",
        serviceAccount: { name: "builder", uid: "u1" },
        pod: { name: "p", uid: "u2" },
        secret: undefined,
        node: { name: "n", uid: "u3" },
        warnAfter: NOW / 1000 + 3607,
      },
    })
  })

  test("is valid only for the requested audiences", () => {
    expect(verify(issue().token, { audiences: ["vault", "other"] })).toMatchObject({ ok: true, audiences: ["vault"] })
    expect(verify(issue({ audiences: ["vault"] }).token)).toEqual({
      ok: false,
      reason: "wrong audience",
      message: `token audiences ["vault"] is invalid for the target audiences ["${DEFAULT_ISSUER}"]`,
    })
  })

  test("without requested audiences is valid for the API server", () => {
    expect(verify(issue({ audiences: [] }).token).ok).toBe(true)
  })

  const [head, body, signature] = issue().token.split(".") as [string, string, string]
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
  test.each([
    ["an hour and a minute later", issue().token, NOW + 3661_000, "expired"],
    ["within the leeway", issue().token, NOW + 3659_000, undefined],
    ["before its time", issue().token, NOW - 61_000, "not yet valid"],
    [
      "with another payload",
      `${head}.${base64({ iss: DEFAULT_ISSUER, sub: "admin" })}.${signature}`,
      NOW,
      "bad signature",
    ],
    ["with algorithm none", `${base64({ alg: "none" })}.${body}.`, NOW, "malformed"],
    ["with an unknown key", issue({}, newSigningKey()).token, NOW, "unknown key"],
    ["of another issuer", `${head}.${base64({ iss: "https://elsewhere" })}.${signature}`, NOW, "unknown issuer"],
    ["that is no JWT", "K10abc::admin:secret", NOW, "malformed"],
    ["whose parts cannot be decoded", "a.b.c", NOW, "malformed"],
    ["that is empty", "", NOW, "malformed"],
  ])("%s is accepted or refused", (_, token, now, reason) => {
    expect(verify(token, { now })).toMatchObject(reason === undefined ? { ok: true } : { ok: false, reason })
  })

  test("that was verified once is still refused after its expiry", () => {
    let now = NOW
    const verifier = createTokenVerifier({ keys: [key], clock: { ...at(NOW), now: () => now } })
    const { token } = issue()
    expect(verifier.verify(token).ok).toBe(true)
    now += 2 * 3600_000
    expect(verifier.verify(token)).toMatchObject({ reason: "expired" })
  })

  test("gets the same verdicts of verifiers that know each other's issuers, however often they are asked", () => {
    // given verifiers that know each other's issuers, and two that do not
    const known = new KnownIssuers()
    const clock = at(NOW)
    const [bound, alone] = [{ known }, {}].map((shared) => createTokenVerifier({ keys: [key], clock, ...shared }))
    const legacy = { keys: [key], apiAudiences: [DEFAULT_ISSUER] }
    const [legacyBound, legacyAlone] = [{ known }, {}].map((shared) =>
      createLegacyTokenVerifier({ ...legacy, ...shared }),
    )
    const forged = issue({}, newSigningKey()).token
    const inSecret = signLegacyToken(key, { ...request, secretName: "s" })
    for (const token of [issue().token, inSecret, forged, "no token"])
      for (let i = 0; i < 3; i++) {
        expect(legacyBound!.verify(token)).toEqual(legacyAlone!.verify(token))
        expect(bound!.verify(token)).toEqual(alone!.verify(token))
      }
    // and only what the cluster has signed is kept
    expect([inSecret, forged, "no token"].map((token) => known.of(token))).toEqual([
      "kubernetes/serviceaccount",
      undefined,
      undefined,
    ])
  })

  test("signed with an RSA key is verified too, beside other keys", () => {
    const rsa = signingKey(
      generateKeyPairSync("rsa", { modulusLength: 2048 })
        .privateKey.export({ type: "pkcs1", format: "pem" })
        .toString(),
    )
    expect(verify(issue({}, rsa).token, { keys: [key, rsa] }).ok).toBe(true)
  })

  const pemOf = ({ privateKey }: { readonly privateKey: KeyObject }) =>
    privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  const KEYS: readonly (readonly [algorithm: string, pem: string])[] = [
    ["RS256", pemOf(generateKeyPairSync("rsa", { modulusLength: 2048 }))],
    ["ES256", pemOf(generateKeyPairSync("ec", { namedCurve: "P-256" }))],
    ["ES384", pemOf(generateKeyPairSync("ec", { namedCurve: "P-384" }))],
    ["ES512", pemOf(generateKeyPairSync("ec", { namedCurve: "P-521" }))],
  ]
  describe.each(KEYS)("by a key for %s", (algorithm, pem) => {
    const signer = signingKey(pem)

    test("is taken by programs that read the published keys, and by no other key of the cluster", async () => {
      const { token } = issue({}, signer)
      const keys = createLocalJWKSet({ keys: jwks([key, signer]).keys.map((jwk) => ({ ...jwk })) })
      const { protectedHeader } = await jwtVerify(token, keys, { audience: "vault", currentDate: new Date(NOW) })
      expect(protectedHeader).toEqual({ alg: algorithm, kid: signer.keyId })
      expect(verify(token, { keys: [key, signer] })).toMatchObject({ ok: true })
      expect(
        verify(token, { keys: KEYS.filter(([other]) => other !== algorithm).map(([, one]) => signingKey(one)) }),
      ).toMatchObject({ ok: false })
    })

    test("is verified where another program has signed it", async () => {
      const token = await new SignJWT(decodeJwt(issue().token))
        .setProtectedHeader({ alg: algorithm, kid: signer.keyId })
        .sign(await importPKCS8(pem, algorithm))
      expect(verify(token, { keys: [key, signer] })).toMatchObject({ ok: true })
    })

    test("is not verified with the digest of another algorithm, or a part of its signature", () => {
      const [head, body] = issue({}, signer).token.split(".") as [string, string]
      const signed = (digest: string) =>
        sign(digest, Buffer.from(`${head}.${body}`), { key: signer.privateKey, dsaEncoding: "ieee-p1363" })
      const right = signed(`sha${algorithm.slice(2)}`)
      const wrong = signed(algorithm === "ES512" ? "sha384" : "sha512")
      const verdicts = [right, wrong, right.subarray(0, -1), Buffer.concat([right, Buffer.alloc(1)])].map(
        (signature) => verify(`${head}.${body}.${signature.toString("base64url")}`, { keys: [signer] }).ok,
      )
      expect(verdicts).toEqual([true, false, false, false])
    })
  })

  test("is the same byte for byte with the same seed", () => {
    const seeded = () => seededSigningKey(seededRandom(7))
    const { token } = issue({}, seeded())
    expect(issue({}, seeded()).token).toBe(token)
    expect(verify(token, { keys: [seeded()] }).ok).toBe(true)
  })

  test("can be verified with the published keys", async () => {
    const { payload, protectedHeader } = await jwtVerify(
      issue().token,
      createLocalJWKSet({ keys: jwks([key]).keys.map((jwk) => ({ ...jwk })) }),
      {
        issuer: DEFAULT_ISSUER,
        audience: "vault",
        currentDate: new Date(NOW),
      },
    )
    expect(protectedHeader).toEqual({ alg: "ES256", kid: key.keyId })
    expect(payload["kubernetes.io"]).toEqual({
      namespace: "default",
      node: { name: "n", uid: "u3" },
      pod: { name: "p", uid: "u2" },
      serviceaccount: { name: "builder", uid: "u1" },
      warnafter: NOW / 1000 + 3607,
    })
  })
})

test("the discovery document has the URL and the algorithms of the keys", () => {
  expect(openIdConfiguration({ issuer: DEFAULT_ISSUER, server: "https://10.0.0.1:6443", keys: [key] })).toEqual({
    issuer: DEFAULT_ISSUER,
    jwks_uri: "https://10.0.0.1:6443/openid/v1/jwks",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  })
})

test("the signing key is created once, readable for its owner only", () => {
  const path = join(mkdtempSync(join(tmpdir(), "jwt-")), "service.key")
  expect(loadOrCreateSigningKey(path).keyId).toBe(loadOrCreateSigningKey(path).keyId)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})
