import { Agent } from "node:https"
import { newProviderKey, signToken } from "../../../components/apiserver/authentication/oidc/provider.fixtures.ts"
import { issueCertificate } from "../../../pkg/pki/certificate.ts"
import { ADMIN_TOKEN } from "./files.ts"
import { validity, type Programs } from "./programs.ts"

/** How a request says who sends it. */
export interface User {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Brings the client's certificate. */
  readonly agent?: Agent
}

const SECONDS = Math.floor(Date.now() / 1000)
const HOUR = 3600

/** All users of the compared requests by name; `service-account` gets its token while they are sent. */
export function usersOf({ plain, expressive, authorities }: Programs) {
  const bearer = (token: string): User => ({ headers: { authorization: `Bearer ${token}` } })
  const certificate = (authority: "clients" | "proxies", commonName: string, organizations: string[] = []): Agent => {
    const { certPem, keyPem } = issueCertificate(authorities[authority], {
      subject: { commonName, organizations },
      validity,
      usages: ["client"],
    })
    return new Agent({ keepAlive: true, maxSockets: 1, cert: certPem, key: keyPem })
  }
  const proxy = certificate("proxies", "good-proxy")
  const behindProxy = (headers: Readonly<Record<string, string | readonly string[]>>): User => ({
    agent: proxy,
    headers,
  })
  const claimed = (more: object = {}) => bearer(plain.token({ hd: "acme.com", groups: ["dev", "ops"], ...more }))
  const expressed = (more: object = {}) =>
    bearer(
      expressive.token({
        aud: "other",
        email: "eve@acme.com",
        email_verified: true,
        nbf: SECONDS - 1,
        exp: SECONDS + HOUR,
        roles: ["a", "b"],
        tenant: "acme",
        ...more,
      }),
    )
  return {
    admin: bearer(ADMIN_TOKEN),
    nobody: {},
    "token jane": bearer("token-jane"),
    "token john": bearer("token-john"),
    "token #hash": bearer("token-hash"),
    "token unknown": bearer("token-unknown"),
    "token of no form": { headers: { authorization: "Bearer a b" } },
    "basic password": { headers: { authorization: `Basic ${btoa("jane:secret")}` } },
    "lower-case bearer": { headers: { authorization: "bearer token-john" } },
    "certificate carl": { agent: certificate("clients", "carl", ["x", "y"]) },
    "certificate of a node": { agent: certificate("clients", "system:node:n1", ["system:nodes"]) },
    "certificate without name": { agent: certificate("clients", "", ["x"]) },
    "certificate and token": { agent: certificate("clients", "carl", ["x"]), ...bearer("token-john") },
    "certificate and wrong token": { agent: certificate("clients", "carl", ["x"]), ...bearer("token-unknown") },
    "proxied paula": behindProxy({ "X-Remote-User": "paula", "X-Remote-Group": ["g1", "g2"] }),
    "proxied with all": behindProxy({
      "X-Remote-User": "paula",
      "X-Remote-Uid": "77",
      "X-Remote-Group": "g1",
      "X-Remote-Extra-Acme.com%2fTeam": ["red", "blue"],
      "X-Remote-Extra-Scopes": "read",
    }),
    "proxied without user": behindProxy({ "X-Remote-Group": "g1" }),
    "proxied, and a token": behindProxy({ "X-Remote-User": "paula", authorization: "Bearer token-john" }),
    "proxied by another proxy": { agent: certificate("proxies", "bad-proxy"), headers: { "X-Remote-User": "paula" } },
    "headers without proxy": { headers: { "X-Remote-User": "paula", authorization: "Bearer token-john" } },
    "provider's jane": claimed(),
    "provider's groups as one text": claimed({ groups: "dev" }),
    "provider's groups as a number": claimed({ groups: 7 }),
    "provider's expired token": claimed({ exp: SECONDS - HOUR }),
    "provider's token of the future": claimed({ nbf: SECONDS + HOUR }),
    "provider's token for others": claimed({ aud: "elsewhere" }),
    "provider's token without claim": claimed({ hd: undefined }),
    "provider's token without name": claimed({ sub: undefined }),
    "provider's token by another key": bearer(
      signToken({ ...newProviderKey(), kid: plain.keys[0]!.kid }, plain.claims({ hd: "acme.com" })),
    ),
    "expressed eve": expressed(),
    "expressed with all": expressed({ number: "12", levels: ["x", "y"], aud: ["k3ts", "z"] }),
    "expressed without address": expressed({ email: undefined }),
    "expressed with unverified address": expressed({ email_verified: false }),
    "expressed root": expressed({ email: "root@acme.com" }),
    "expressed with a group of the system": expressed({ roles: "system:masters" }),
    "expressed with an empty tenant": expressed({ tenant: "" }),
    "webhook's jane": bearer("webhook-jane"),
    "webhook's plain": bearer("webhook-plain"),
    "webhook's for another audience": bearer("webhook-other-audience"),
    "webhook's refused": bearer("webhook-refused"),
    "webhook's nameless": bearer("webhook-nameless"),
    "webhook's failure": bearer("webhook-broken"),
    "service-account": {} as User,
    "service-account for others": {} as User,
  } satisfies Record<string, User>
}

export type UserName = keyof ReturnType<typeof usersOf>
