import { afterEach, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { awaitedLog } from "../../../../pkg/log/awaited-log.fixtures.ts"
import { json, startHttpServer } from "../../serving/http-server.fixtures.ts"
import { configurationOf, newProviderKey, PROVIDER_CA, startProvider, type TestProvider } from "./provider.fixtures.ts"
import type { OidcConfig } from "../sign-in-config.ts"

const SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

async function provider(): Promise<TestProvider> {
  const started = await startProvider()
  cleanUps.push(() => started[Symbol.dispose]())
  return started
}

/** A server with this AuthenticationConfiguration, whose providers were asked. */
async function serverWith(text: string, providers: readonly TestProvider[]) {
  const dir = mkdtempSync(join(tmpdir(), "sign-in-"))
  const file = join(dir, "authentication.yaml")
  writeFileSync(file, text)
  const log = awaitedLog()
  const server = await startHttpServer({ signIn: { file } }, undefined, log.log)
  cleanUps.push(
    () => rmSync(dir, { recursive: true }),
    () => server.stop(),
  )
  await Promise.all(providers.map((one) => one.askedForKeys(1)))
  /** The user of a token, or the code of the refusal. */
  const whoIs = async (token: string | undefined) => {
    const { code, text: answer } = await server.call("POST", SELF, { ...json({}), token })
    return code === 201
      ? (JSON.parse(answer) as { status: { userInfo: Readonly<Record<string, unknown>> } }).status.userInfo
      : code
  }
  return { ...server, file, whoIs, line: log.line }
}

describe("a server with an AuthenticationConfiguration", () => {
  test("knows the users of its providers' tokens, and nobody else's", async () => {
    // given two providers that the server trusts, and one that it does not
    const [one, two, other] = [await provider(), await provider(), await provider()]
    two.keys = [newProviderKey("rsa")]
    const { whoIs } = await serverWith(configurationOf([one, two]), [one, two])

    // then each token of the two has its user, and the third provider's have none
    expect(await whoIs(one.token({ groups: ["dev", "ops"], jti: "1" }))).toEqual({
      username: "oidc:jane",
      groups: ["oidc:dev", "oidc:ops", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": ["JTI=1"] },
    })
    expect(await whoIs(two.token({ sub: "joe", groups: "dev" }))).toEqual({
      username: "oidc:joe",
      groups: ["oidc:dev", "system:authenticated"],
    })
    expect(await whoIs(other.token())).toBe(401)
  })

  test("asks for the keys again when a token has another one, and does not when the key is known", async () => {
    // given a provider that has rotated its key
    const one = await provider()
    const { whoIs } = await serverWith(configurationOf([one]), [one])
    expect(await whoIs(one.token())).toMatchObject({ username: "oidc:jane" })
    one.keys = [newProviderKey(), ...one.keys]

    // then its next token is known, with one more request for the keys
    expect(await whoIs(one.token({ sub: "joe" }))).toMatchObject({ username: "oidc:joe" })
    expect(one.asked.filter((path) => path === "/keys")).toHaveLength(2)
  })

  test("uses a changed file, and keeps the old one where the new one is wrong", async () => {
    // given a server that knows one provider
    const [one, two] = [await provider(), await provider()]
    const { whoIs, file, call, line } = await serverWith(configurationOf([one]), [one])
    const first = one.token()
    expect(await whoIs(first)).toMatchObject({ username: "oidc:jane" })
    expect(await whoIs(two.token())).toBe(401)
    const reloads = async (status: string) => {
      const { text } = await call("GET", "/metrics")
      return text.match(
        new RegExp(`authentication_config_controller_automatic_reloads_total.*"${status}".* (\\d+)`),
      )?.[1]
    }

    // when the file names the other one
    writeFileSync(file, configurationOf([two]))
    await line(/Loaded the changed authentication configuration/)

    // then the first one's tokens count no longer, though they did a moment ago
    expect(await whoIs(first)).toBe(401)
    expect(await whoIs(two.token())).toMatchObject({ username: "oidc:jane" })
    expect(await reloads("success")).toBe("1")

    // when the file has a fault
    writeFileSync(file, configurationOf([one], { claimMappings: { username: { claim: "sub" } } }))
    expect(await line(/Failed to load the changed authentication configuration/)).toContain(
      "authentication.yaml:1: jwt[0].claimMappings.username.prefix: Required value: prefix is required",
    )
    expect(await reloads("failure")).toBe("1")

    // then the file before it counts
    expect(await whoIs(two.token())).toMatchObject({ username: "oidc:jane" })
    expect(await whoIs(one.token())).toBe(401)
  })

  test("lets requests without credentials reach the paths of its file only", async () => {
    // given a file that names one path
    const anonymous = { enabled: true, conditions: [{ path: "/livez" }] }
    const { call } = await serverWith(configurationOf([], {}, { anonymous }), [])

    // then that path is open, and those that are open by default are not
    const code = async (path: string) => (await call("GET", path, { token: undefined })).code
    expect(await code("/livez")).toBe(200)
    expect(await code("/livez/ping")).toBe(401)
    expect(await code("/version")).toBe(401)
    expect(await code("/api")).toBe(401)
  })

  test("does not start where its flag and its file both speak of requests without credentials", async () => {
    const dir = mkdtempSync(join(tmpdir(), "sign-in-"))
    cleanUps.push(() => rmSync(dir, { recursive: true }))
    const file = join(dir, "authentication.yaml")
    writeFileSync(file, configurationOf([], {}, { anonymous: { enabled: true } }))
    for (const anonymous of [true, false])
      await expect(startHttpServer({ signIn: { file }, anonymous })).rejects.toThrow(
        "authentication.yaml:1: anonymous: Forbidden: cannot be used beside --anonymous-auth: leave out one of the two",
      )
  })

  test("makes users by its expressions, and refuses those that break a rule", async () => {
    // given rules on claims and users
    const one = await provider()
    const { whoIs } = await serverWith(
      configurationOf([one], {
        claimValidationRules: [
          { expression: "claims.exp - claims.iat <= 86400.0", message: "lives too long" },
          { claim: "hd", requiredValue: "acme.com" },
        ],
        claimMappings: {
          username: { expression: "claims.email_verified ? claims.email : ''" },
          groups: { expression: "claims.roles.split(',') + [claims.org.acme__dot__com.team]" },
          uid: { claim: "sub" },
          extra: [{ key: "acme.com/tenant", valueExpression: "claims.tenant" }],
        },
        userValidationRules: [
          { expression: "!user.username.startsWith('system:')", message: "is reserved" },
          { expression: "user.groups.all(group, !group.startsWith('system:'))", message: "is reserved" },
        ],
      }),
      [one],
    )
    const iat = Math.floor(Date.now() / 1000)
    const claims = {
      iat,
      hd: "acme.com",
      email: "jane@acme.com",
      email_verified: true,
      roles: "dev,ops",
      tenant: ["t1", ""],
      org: { "acme.com": { team: "blue" } },
    }

    // then the claims of a token make its user
    expect(await whoIs(one.token(claims))).toEqual({
      username: "jane@acme.com",
      uid: "jane",
      groups: ["dev", "ops", "blue", "system:authenticated"],
      extra: { "acme.com/tenant": ["t1"] },
    })
    // and a token that breaks one of the rules, or has not what they need, has none
    for (const wrong of [
      { exp: iat + 90_000 },
      { hd: "evil.com" },
      { hd: 1 },
      { hd: undefined },
      { email_verified: false },
      { email: "system:admin" },
      { roles: "system:masters" },
      { roles: 7 },
      { roles: undefined },
      { tenant: { a: 1 } },
      { sub: 5 },
      { org: {} },
    ])
      expect([wrong, await whoIs(one.token({ ...claims, ...wrong }))]).toEqual([wrong, 401])
  })
})

describe("a server with the flags of one provider", () => {
  /** The user of a token, or the code of the refusal. */
  async function whoIs(one: TestProvider, config: Partial<OidcConfig>, claims: object) {
    const dir = mkdtempSync(join(tmpdir(), "oidc-"))
    const caFile = join(dir, "ca.pem")
    writeFileSync(caFile, PROVIDER_CA)
    const oidc: OidcConfig = {
      issuerUrl: one.issuer,
      clientId: "k3ts",
      caFile,
      usernameClaim: "sub",
      usernamePrefix: "",
      groupsClaim: "",
      groupsPrefix: "",
      signingAlgorithms: ["ES256"],
      requiredClaims: {},
      ...config,
    }
    const server = await startHttpServer({ signIn: { oidc } })
    cleanUps.push(
      () => rmSync(dir, { recursive: true }),
      () => server.stop(),
    )
    await one.askedForKeys(1)
    const { code, text } = await server.call("POST", SELF, { ...json({}), token: one.token({ ...claims }) })
    return code === 201
      ? (JSON.parse(text) as { status: { userInfo: Readonly<Record<string, unknown>> } }).status.userInfo
      : code
  }
  const EMAIL = { usernameClaim: "email" }
  const email = "jane@acme.com"

  test.each([
    ["puts the issuer before a name", {}, {}, (issuer: string) => ({ username: `${issuer}#jane` })],
    ["puts nothing before it for -", { usernamePrefix: "-" }, {}, () => ({ username: "jane" })],
    ["puts nothing before an address", EMAIL, { email }, () => ({ username: email })],
    ["refuses an address that is not verified", EMAIL, { email, email_verified: false }, () => 401],
    [
      "takes groups from their claim",
      { groupsClaim: "roles", groupsPrefix: "oidc:" },
      { roles: ["dev"] },
      () => ({ groups: ["oidc:dev", "system:authenticated"] }),
    ],
    ["refuses an algorithm that is not named", { signingAlgorithms: ["RS256"] }, {}, () => 401],
    ["refuses a token for another client", { clientId: "vault" }, {}, () => 401],
    [
      "refuses a token without a claim that it must have",
      { requiredClaims: { hd: "acme" } },
      { hd: "evil" },
      () => 401,
    ],
  ] as readonly (readonly [string, Partial<OidcConfig>, object, (issuer: string) => number | object])[])(
    "%s",
    async (_title, config, claims, wanted) => {
      const one = await provider()
      const found = await whoIs(one, config, claims)
      const expected = wanted(one.issuer)
      if (typeof expected === "number") expect(found).toBe(expected)
      else expect(found).toMatchObject(expected)
    },
  )
})
