/** What attackers try with ID tokens of OpenID providers, and what providers may do to the server. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createPublicKey } from "node:crypto"
import { awaitedLog, type AwaitedLog } from "../../pkg/log/awaited-log.fixtures.ts"
import { json, startHttpServer } from "../../components/apiserver/serving/http-server.fixtures.ts"
import {
  configurationOf,
  DISCOVERY_PATH,
  hmacToken,
  KEYS_PATH,
  newProviderKey,
  signToken,
  startProvider,
  type TestProvider,
} from "../../components/apiserver/authentication/oidc/provider.fixtures.ts"

const SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
const NOW = Math.floor(Date.now() / 1000)

let dir: string
let good: TestProvider
/** Another provider that the server trusts. */
let second: TestProvider
/** Providers with faults, each trusted as well. */
let faulty: Readonly<Record<"hangs" | "huge" | "redirects" | "lies" | "down" | "junk" | "many", TestProvider>>
let server: Awaited<ReturnType<typeof startHttpServer>>
let log: AwaitedLog

beforeAll(async () => {
  const start = () => startProvider()
  ;[good, second] = [await start(), await start()]
  good.keys = [newProviderKey("rsa"), newProviderKey("ec")]
  faulty = {
    hangs: await start(),
    huge: await start(),
    redirects: await start(),
    lies: await start(),
    down: await start(),
    junk: await start(),
    many: await start(),
  }
  faulty.hangs.answers.set(KEYS_PATH, () => undefined)
  faulty.huge.answers.set(KEYS_PATH, (_req, res) => void res.writeHead(200).end(Buffer.alloc(3 * 1024 * 1024, "x")))
  faulty.redirects.answers.set(
    KEYS_PATH,
    (_req, res) => void res.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
  )
  faulty.lies.answers.set(
    DISCOVERY_PATH,
    (_req, res) =>
      void res
        .writeHead(200)
        .end(JSON.stringify({ issuer: good.issuer, jwks_uri: `${faulty.lies.issuer}${KEYS_PATH}` })),
  )
  faulty.junk.answers.set(
    KEYS_PATH,
    (_req, res) => void res.writeHead(200).end('{"keys":[{"kty":"oct","k":"AA"},7,{}]}'),
  )
  faulty.many.answers.set(
    KEYS_PATH,
    (_req, res) => void res.writeHead(200).end(JSON.stringify({ keys: Array.from({ length: 101 }, () => ({})) })),
  )
  faulty.down[Symbol.dispose]()
  dir = mkdtempSync(join(tmpdir(), "id-tokens-"))
  const file = join(dir, "authentication.yaml")
  writeFileSync(file, configurationOf([good, second, ...Object.values(faulty)]))
  log = awaitedLog()
  server = await startHttpServer({ signIn: { file } }, undefined, log.log)
  await Promise.all([good.askedForKeys(1), second.askedForKeys(1), faulty.hangs.askedForKeys(1)])
})
afterAll(async () => {
  await server.stop()
  for (const one of [good, second, ...Object.values(faulty)]) one[Symbol.dispose]()
  rmSync(dir, { recursive: true })
})

/** The name and groups of a token's user, or the code of the refusal. */
async function whoIs(token: string): Promise<unknown> {
  const { code, text } = await server.call("POST", SELF, { ...json({}), token })
  if (code !== 201) return code
  const { userInfo } = (JSON.parse(text) as { status: { userInfo: { username: string; groups: readonly string[] } } })
    .status
  return [userInfo.username, ...userInfo.groups]
}
/** The status of a TokenReview. */
async function reviewed(token: string, audiences: readonly string[] = []): Promise<unknown> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token, audiences } }
  const { text } = await server.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", json(review))
  return (JSON.parse(text) as { status: unknown }).status
}
const JANE = ["oidc:jane", "system:authenticated"]
const rsa = () => good.keys[0]!
const ec = () => good.keys[1]!
const publicPem = () => createPublicKey(rsa().privateKey).export({ type: "spki", format: "pem" })
const tampered = (token: string, part: number, value: object) =>
  token
    .split(".")
    .with(part, Buffer.from(JSON.stringify(value)).toString("base64url"))
    .join(".")

const FORGERIES: readonly { readonly title: string; readonly token: () => string }[] = [
  { title: "without a signature", token: () => good.token({}, { alg: "none" }) },
  {
    title: "without a signature, in other letters",
    token: () => good.token({}, { alg: "none" }).replace(/\.$/, ".AA"),
  },
  {
    title: "signed with the public key as a secret",
    token: () => hmacToken(publicPem(), good.claims(), { alg: "HS256", kid: rsa().kid }),
  },
  {
    title: "signed with the text of the key as a secret",
    token: () => hmacToken(JSON.stringify(rsa().jwk), good.claims(), { alg: "HS512", kid: rsa().kid }),
  },
  { title: "with the id of another key", token: () => good.token({}, { kid: ec().kid }) },
  {
    title: "with an algorithm of another kind of key",
    token: () => signToken(ec(), good.claims(), { kid: rsa().kid }),
  },
  { title: "signed by another provider", token: () => signToken(second.keys[0]!, good.claims()) },
  {
    title: "signed by another provider, with the id of a good key",
    token: () => signToken({ ...second.keys[0]!, kid: rsa().kid }, good.claims()),
  },
  {
    title: "with its own key in the header",
    token: () => {
      const own = newProviderKey("rsa")
      return signToken({ ...own, kid: rsa().kid }, good.claims(), { jwk: own.jwk, jku: `${second.issuer}${KEYS_PATH}` })
    },
  },
  { title: "with changed claims", token: () => tampered(good.token(), 1, good.claims({ sub: "admin" })) },
  {
    title: "with a changed header",
    token: () => tampered(good.token(), 0, { alg: "RS256", kid: rsa().kid, typ: "at+jwt" }),
  },
  { title: "with an extension that is critical", token: () => good.token({}, { crit: ["exp"] }) },
  { title: "for another audience", token: () => good.token({ aud: "vault" }) },
  { title: "for nobody", token: () => good.token({ aud: undefined }) },
  { title: "for an audience of another type", token: () => good.token({ aud: { k3ts: true } }) },
  { title: "for several audiences as one text", token: () => good.token({ aud: "k3ts vault" }) },
  { title: "that has expired", token: () => good.token({ exp: NOW - 1 }) },
  { title: "that never expires", token: () => good.token({ exp: undefined }) },
  { title: "that expires at a text", token: () => good.token({ exp: String(NOW + 100) }) },
  { title: "that expires at null", token: () => good.token({ exp: null }) },
  { title: "that is not valid yet", token: () => good.token({ nbf: NOW + 600 }) },
  { title: "that is valid from a text", token: () => good.token({ nbf: "now" }) },
  { title: "without a user", token: () => good.token({ sub: undefined }) },
  { title: "whose user is a list", token: () => good.token({ sub: ["jane"] }) },
  { title: "whose groups are numbers", token: () => good.token({ groups: [1] }) },
  { title: "whose groups are an object", token: () => good.token({ groups: { dev: true } }) },
  {
    title: "whose groups are elsewhere",
    token: () =>
      good.token({ _claim_names: { groups: "src" }, _claim_sources: { src: { endpoint: `${second.issuer}/evil` } } }),
  },
  { title: "of an issuer with a slash more", token: () => good.token({ iss: `${good.issuer}/` }) },
  { title: "of a list of issuers", token: () => good.token({ iss: [good.issuer] }) },
]

describe("an ID token", () => {
  test("that is good has its user, whichever key has signed it", async () => {
    expect(await whoIs(good.token())).toEqual(JANE)
    expect(await whoIs(signToken(ec(), good.claims()))).toEqual(JANE)
    for (const alg of ["RS384", "RS512"]) expect(await whoIs(good.token({}, { alg }))).toEqual(JANE)
    expect(await whoIs(good.token({ aud: ["vault", "k3ts"], nbf: NOW + 240 }))).toEqual(JANE)
  })

  test("that is forged, misdirected, out of time or of other types is refused", async () => {
    const verdicts = await Promise.all(
      FORGERIES.map(async ({ title, token }) => ({ title, code: await whoIs(token()) })),
    )
    expect(verdicts.filter(({ code }) => code !== 401)).toEqual([])
  })

  test("of 100,000 characters is refused, in a header and in a review", async () => {
    const token = good.token({ more: "x".repeat(100_000) })
    expect([400, 401, 431]).toContain((await whoIs(token)) as number)
    expect(await reviewed(token)).toEqual({ user: {}, error: "invalid bearer token" })
  })

  test("never becomes a user or a group of the cluster's own", async () => {
    const token = good.token({ sub: "system:admin", groups: ["system:masters", "system:nodes"] })
    expect(await whoIs(token)).toEqual([
      "oidc:system:admin",
      "oidc:system:masters",
      "oidc:system:nodes",
      "system:authenticated",
    ])
  })

  test("is not shown as one for another audience", async () => {
    expect(await reviewed(good.token(), ["vault"])).toEqual({ user: {}, error: "invalid bearer token" })
  })
})

describe("a provider", () => {
  test.each([
    ["whose keys are huge", "huge", /the answer is larger than 1048576 bytes/],
    ["that redirects to plain HTTP", "redirects", /it is not reached by https/],
    ["that says it is another issuer", "lies", /did not match the issuer URL returned by provider/],
    ["that is down", "down", /connection refused/],
    ["with too many keys", "many", /it has more than 100 keys/],
  ] as const)("%s is named in the log, and its tokens are refused", async (_title, name, why) => {
    expect(await log.line(why)).toContain(faulty[name].issuer)
    expect(await whoIs(faulty[name].token())).toBe(401)
  })

  test("whose keys are secrets or no keys has none", async () => {
    const { issuer } = faulty.junk
    expect(await whoIs(hmacToken(Buffer.from([0]), { ...good.claims(), iss: issuer }, { alg: "HS256" }))).toBe(401)
    expect(await whoIs(faulty.junk.token())).toBe(401)
  })

  test("that hangs holds up its own tokens only, and they are refused in the end", async () => {
    // given many requests that wait for it
    const waiting = Array.from({ length: 20 }, (_, i) => whoIs(faulty.hangs.token({ sub: `user-${i}` })))

    // then others are served meanwhile
    const others = Promise.all([whoIs(good.token({ sub: "joe" })), server.call("GET", "/api")]).then(() => "others")
    expect(await Promise.race([...waiting, others])).toBe("others")
    faulty.hangs.answers.set(KEYS_PATH, (_req, res) => void res.destroy())
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([401]))
  }, 30_000)

  test("is asked for its keys at most once a second, however many tokens have unknown ones", async () => {
    const before = good.asked.length
    const strange = newProviderKey()
    const began = performance.now()
    const verdicts = await Promise.all(
      Array.from({ length: 50 }, (_, i) => whoIs(signToken({ ...strange, kid: `k${i}` }, good.claims()))),
    )
    expect(new Set(verdicts)).toEqual(new Set([401]))
    expect(good.asked.length - before).toBeLessThanOrEqual(2 + (performance.now() - began) / 1000)
  })

  test("that withdraws a key has it forgotten with the next set of keys", async () => {
    // given a token that was used
    const token = good.token({ sub: "leaver" })
    expect(await whoIs(token)).toEqual(["oidc:leaver", "system:authenticated"])

    // when its key is withdrawn, and a token has another key
    good.keys = [newProviderKey(), ec()]
    expect(await whoIs(good.token())).toEqual(JANE)

    // then it does not count any more
    expect(await whoIs(token)).toBe(401)
  })
})
