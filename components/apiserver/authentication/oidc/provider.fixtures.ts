import { createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { createCa, issueCertificate } from "../../../../pkg/pki/certificate.ts"

const DAY_MS = 86_400_000
const now = Date.now()
const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) }
const ca = createCa({ commonName: "providers", validity })
const pair = issueCertificate(ca, {
  subject: { commonName: "provider", organizations: [] },
  validity,
  ipAddresses: ["127.0.0.1"],
  usages: ["server"],
})

/** The authority of every provider's certificate, as PEM. */
export const PROVIDER_CA = ca.certPem

/** A key with which a provider signs. */
export interface ProviderSigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly jwk: Readonly<Record<string, unknown>>
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void

/** An OpenID provider of a test, whose answers the test can change. */
export interface TestProvider extends Disposable {
  readonly issuer: string
  /** The paths that it was asked for. */
  readonly asked: readonly string[]
  /** The keys that it publishes; the first one signs. */
  keys: readonly ProviderSigningKey[]
  /** Replaces the answer at a path. */
  readonly answers: Map<string, Handler>
  /** Returns the claims of a token that is good, with changes; a claim that is undefined is left out. */
  claims(more?: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  /** Returns a token with these claims. */
  token(more?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string
  /** Resolves when it was asked this often for its keys. */
  askedForKeys(times: number): Promise<void>
}

export const KEYS_PATH = "/keys"
export const DISCOVERY_PATH = "/.well-known/openid-configuration"

let made = 0
/** Makes a key: RSA of 2048 bits, or P-256. */
export function newProviderKey(type: "rsa" | "ec" = "ec"): ProviderSigningKey {
  const kid = `key-${++made}`
  const { privateKey, publicKey } =
    type === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ec", { namedCurve: "P-256" })
  return { kid, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid, use: "sig" } }
}

/** Returns a token in compact form, signed with the algorithm that its header names. */
export function signToken(
  { kid, privateKey }: Pick<ProviderSigningKey, "kid" | "privateKey">,
  claims: object,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const whole = { alg: privateKey.asymmetricKeyType === "rsa" ? "RS256" : "ES256", kid, typ: "JWT", ...header }
  const input = `${encode(whole)}.${encode(claims)}`
  const alg = String(whole.alg)
  if (alg === "none") return `${input}.`
  if (alg.startsWith("HS")) throw new Error("use hmacToken")
  const digest = `sha${alg.slice(2)}`
  const key = alg.startsWith("ES") ? { key: privateKey, dsaEncoding: "ieee-p1363" as const } : privateKey
  return `${input}.${sign(digest, Buffer.from(input), key).toString("base64url")}`
}

/** Returns a token whose signature is made with a secret. */
export function hmacToken(secret: string | Buffer, claims: object, header: object): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

export async function startProvider(): Promise<TestProvider> {
  const asked: string[] = []
  const answers = new Map<string, Handler>()
  const sockets = new Set<Socket>()
  let waiting: (() => void)[] = []
  const server = createServer({ key: pair.keyPem, cert: pair.certPem }, (req, res) => {
    const path = req.url ?? "/"
    asked.push(path)
    for (const tell of waiting) tell()
    const answer = answers.get(path)
    if (answer !== undefined) return answer(req, res)
    const json = (value: object) =>
      void res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
    if (path === DISCOVERY_PATH) return json({ issuer: provider.issuer, jwks_uri: `${provider.issuer}${KEYS_PATH}` })
    if (path === KEYS_PATH) return json({ keys: provider.keys.map(({ jwk }) => jwk) })
    res.writeHead(404).end()
  })
  server.on("secureConnection", (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const provider: TestProvider = {
    issuer: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answers,
    keys: [newProviderKey()],
    claims: (more = {}) => ({
      iss: provider.issuer,
      aud: "k3ts",
      sub: "jane",
      exp: Math.floor(Date.now() / 1000) + 3600,
      ...more,
    }),
    token: (more, header) => signToken(provider.keys[0]!, provider.claims(more), header),
    askedForKeys(times) {
      const isDone = () => asked.filter((path) => path === KEYS_PATH).length >= times
      if (isDone()) return Promise.resolve()
      return new Promise((resolve) => {
        const tell = () => {
          if (!isDone()) return
          waiting = waiting.filter((one) => one !== tell)
          resolve()
        }
        waiting.push(tell)
      })
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return provider
}

/** Returns the text of an AuthenticationConfiguration for providers. */
export const configurationOf = (providers: readonly TestProvider[], more: object = {}, top: object = {}): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: providers.map(({ issuer }) => ({
      issuer: { url: issuer, audiences: ["k3ts"], certificateAuthority: PROVIDER_CA },
      claimMappings: {
        username: { claim: "sub", prefix: "oidc:" },
        groups: { claim: "groups", prefix: "oidc:" },
      },
      ...more,
    })),
    ...top,
  })
