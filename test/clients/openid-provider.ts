import { generateKeyPairSync } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer, type Server } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { Provider } from "oidc-provider"
import { createCa, issueCertificate } from "../../pkg/pki/certificate.ts"

const DAY_MS = 86_400_000
const CALLBACK = "https://127.0.0.1:1/callback"
/** What clients of the provider need: the exec plugin is one. */
export const CLIENT = { id: "k3ts", secret: "s3cret", callback: CALLBACK }

/** A running OpenID provider, the one of npm. Whoever signs in has the groups `dev` and `ops`. */
export interface OpenIdProvider extends Disposable {
  readonly issuer: string
  /** The authority of its certificate, as PEM. */
  readonly caPem: string
  /** Replaces the key with which it signs, and forgets all others. */
  rotate(): void
  /** Takes no more connections, or takes them again. */
  stop(): void
  resume(): Promise<void>
}

export async function startOpenIdProvider(): Promise<OpenIdProvider> {
  const now = Date.now()
  const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) }
  const ca = createCa({ commonName: "the provider's authority", validity })
  const { keyPem: key, certPem: cert } = issueCertificate(ca, {
    subject: { commonName: "provider", organizations: [] },
    validity,
    ipAddresses: ["127.0.0.1"],
    usages: ["server"],
  })
  let serve: (req: IncomingMessage, res: ServerResponse) => unknown
  const sockets = new Set<Socket>()
  let server: Server
  const listen = async (port: number) => {
    server = createServer({ key, cert }, (req, res) => void serve(req, res))
    server.on("secureConnection", (socket) => sockets.add(socket))
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
    return (server.address() as AddressInfo).port
  }
  const stop = () => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
    server.close()
  }
  const port = await listen(0)
  const issuer = `https://127.0.0.1:${port}`
  let keys = 0
  const rotate = () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    serve = new Provider(issuer, {
      jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: `key-${++keys}`, use: "sig", alg: "RS256" }] },
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [CALLBACK],
          token_endpoint_auth_method: "client_secret_post",
        },
      ],
      cookies: { keys: ["of this test"] },
      pkce: { required: () => false },
      claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
      conformIdTokenClaims: false,
      findAccount: (_context: unknown, accountId: string) => ({
        accountId,
        claims: () => ({
          sub: accountId,
          email: `${accountId}@acme.com`,
          email_verified: accountId !== "mallory",
          groups: ["dev", "ops"],
        }),
      }),
    }).callback()
  }
  rotate()
  return {
    issuer,
    caPem: ca.certPem,
    rotate,
    stop,
    resume: async () => void (await listen(port)),
    [Symbol.dispose]: stop,
  }
}
