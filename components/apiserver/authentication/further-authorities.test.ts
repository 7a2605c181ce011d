import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"
import { json, startHttpServer } from "../serving/http-server.fixtures.ts"

const SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
const DAY_MS = 86_400_000
const now = Date.now()
const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) }
const users = createCa({ commonName: "users", validity })
const proxies = createCa({ commonName: "proxies", validity })
const strangers = createCa({ commonName: "strangers", validity })
const of = (ca: typeof users, commonName: string, ...organizations: readonly string[]) =>
  issueCertificate(ca, { subject: { commonName, organizations }, validity, usages: ["client"] })

let server: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => {
  server = await startHttpServer({
    furtherAuthorities: {
      clientCaPem: users.certPem,
      frontProxy: {
        caPem: proxies.certPem,
        allowedNames: ["front"],
        headers: { username: ["x-user"], group: ["x-group"], uid: ["x-uid"], extraPrefix: ["x-extra-"] },
      },
    },
  })
})
afterAll(() => server.stop())

const HEADERS = { "x-user": "jane", "x-group": "dev", "x-uid": "7", "x-extra-team": "blue" }
async function whoIs(certificate: ReturnType<typeof of>, headers: Readonly<Record<string, string>> = {}) {
  const { code, text } = await server.call("POST", SELF, {
    ...json({}),
    headers: { "content-type": "application/json", ...headers },
    token: undefined,
    certificate,
  })
  if (code !== 201) return code
  return (JSON.parse(text) as { status: { userInfo: unknown } }).status.userInfo
}

describe("a server with authorities of others", () => {
  test("takes the subject of their client certificates for the user", async () => {
    expect(await whoIs(of(users, "joe", "ops"))).toMatchObject({
      username: "joe",
      groups: ["ops", "system:authenticated"],
    })
  })

  test("takes the user of a front proxy from its headers", async () => {
    expect(await whoIs(of(proxies, "front"), HEADERS)).toEqual({
      username: "jane",
      uid: "7",
      groups: ["dev", "system:authenticated"],
      extra: { team: ["blue"] },
    })
  })

  test.each([
    ["a proxy of another name", () => whoIs(of(proxies, "other"), HEADERS), 401],
    ["a proxy that names nobody", () => whoIs(of(proxies, "front")), 401],
    [
      "a proxy with the headers of the cluster's own",
      () => whoIs(of(proxies, "front"), { "x-remote-user": "jane" }),
      401,
    ],
    ["a proxy as a user", () => whoIs(of(proxies, "system:admin", "system:masters")), 401],
    ["an authority that nobody knows", () => whoIs(of(strangers, "front"), HEADERS), 401],
  ] as const)("knows nobody by the certificate of %s", async (_what, found, code) => {
    expect(await found()).toBe(code)
  })

  test("does not believe the headers of a user's certificate", async () => {
    expect(await whoIs(of(users, "front"), HEADERS)).toMatchObject({ username: "front" })
    expect(await whoIs(of(users, "system:auth-proxy"), { "x-remote-user": "jane" })).toMatchObject({
      username: "system:auth-proxy",
    })
  })
})
