import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { createCa, issueCertificate, type CertificatePair } from "../../../pkg/pki/certificate.ts"
import {
  startProvider,
  type TestProvider,
} from "../../../components/apiserver/authentication/oidc/provider.fixtures.ts"

const DAY_MS = 86_400_000
const NOT_FOUND = 404
const BROKEN = 500

/** What an API server with the compared configuration asks: two OpenID providers and one server of webhooks. */
export interface Programs extends Disposable {
  /** Its users have names and groups by claims. */
  readonly plain: TestProvider
  /** Its users have all by expressions. */
  readonly expressive: TestProvider
  /** Where the webhooks are: /authenticate, /authorize, /images, /mutate, /validate, and /broken, which fails. */
  readonly webhooks: string
  /** The authority of the webhooks' certificate, of clients and of the front proxy. */
  readonly authorities: Readonly<Record<"webhooks" | "clients" | "proxies", CertificatePair>>
}

export const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) }

export async function startPrograms(): Promise<Programs> {
  const authorities = {
    webhooks: createCa({ commonName: "webhooks", validity }),
    clients: createCa({ commonName: "clients", validity }),
    proxies: createCa({ commonName: "proxies", validity }),
  }
  const pair = issueCertificate(authorities.webhooks, {
    subject: { commonName: "webhooks", organizations: [] },
    validity,
    ipAddresses: ["127.0.0.1"],
    usages: ["server"],
  })
  const sockets = new Set<Socket>()
  const server = createServer({ key: pair.keyPem, cert: pair.certPem }, (req, res) => void answer(req, res))
  server.on("secureConnection", (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const [plain, expressive] = [await startProvider(), await startProvider()]
  return {
    plain,
    expressive,
    authorities,
    webhooks: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]() {
      plain[Symbol.dispose]()
      expressive[Symbol.dispose]()
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

interface Review {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: {
    readonly token?: string
    readonly user?: string
    readonly resourceAttributes?: { readonly resource?: string; readonly name?: string }
    readonly nonResourceAttributes?: { readonly path?: string }
    readonly containers?: readonly { readonly image: string }[]
  }
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk)
  const path = (req.url ?? "").replace(/\?.*/, "")
  const admit = ADMISSIONS[path]
  if (admit !== undefined) {
    const { request, ...review } = JSON.parse(Buffer.concat(chunks).toString()) as AdmissionReview
    const response = { uid: request.uid, ...admit(request.object.metadata.name) }
    return void res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ...review, response }))
  }
  const decide = DECISIONS[path]
  if (decide === undefined) return void res.writeHead(NOT_FOUND).end()
  const { apiVersion, kind, spec } = JSON.parse(Buffer.concat(chunks).toString()) as Review
  const status = decide(spec)
  if (status === undefined) return void res.writeHead(BROKEN).end("the webhook is broken")
  res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ apiVersion, kind, status }))
}

interface AdmissionReview {
  readonly apiVersion: string
  readonly kind: string
  readonly request: { readonly uid: string; readonly object: { readonly metadata: { readonly name: string } } }
}

/** What the webhooks of admission say about an object, by the path at which they are asked. */
const ADMISSIONS: Readonly<Record<string, (name: string) => object>> = {
  "/mutate": () => ({
    allowed: true,
    patchType: "JSONPatch",
    patch: btoa(JSON.stringify([{ op: "add", path: "/metadata/annotations", value: { touched: "yes" } }])),
    auditAnnotations: { touched: "by mutate" },
    warnings: ["touched"],
  }),
  "/validate": (name) => ({
    allowed: !name.endsWith("denied"),
    ...(name.endsWith("denied") ? { status: { code: 409, reason: "Conflict", message: "its name says so" } } : {}),
    auditAnnotations: { checked: name },
  }),
}

/** The status of the answer; undefined: the webhook fails. */
type Decide = (spec: Review["spec"]) => object | undefined

const DECISIONS: Readonly<Record<string, Decide>> = {
  "/broken": () => undefined,
  "/authenticate": ({ token }) => TOKENS[token ?? ""] ?? (token === "webhook-broken" ? undefined : {}),
  "/authorize": ({ resourceAttributes, nonResourceAttributes }) => {
    const { resource, name = "" } = resourceAttributes ?? {}
    if (nonResourceAttributes !== undefined) return { allowed: nonResourceAttributes.path === "/metrics" }
    if (resource !== "configmaps") return { allowed: false }
    if (name.startsWith("allowed")) return { allowed: true, reason: "its name says so" }
    if (name.startsWith("denied")) return { allowed: false, denied: true, reason: "nobody may" }
    if (name.startsWith("error")) return { allowed: false, evaluationError: "the moon is full" }
    if (name.startsWith("broken")) return undefined
    return { allowed: false, reason: "no opinion about it" }
  },
  "/images": ({ containers = [] }) =>
    containers.every(({ image }) => image.startsWith("good/"))
      ? { allowed: true, auditAnnotations: { seen: "yes" } }
      : { allowed: false, reason: "not a good image" },
}

const TOKENS: Readonly<Record<string, object>> = {
  "webhook-jane": {
    authenticated: true,
    user: { username: "hook-jane", uid: "7", groups: ["hook"], extra: { "acme.com/team": ["a", "b"] } },
  },
  "webhook-plain": { authenticated: true, user: { username: "hook-plain" } },
  "webhook-other-audience": { authenticated: true, user: { username: "hook-other" }, audiences: ["elsewhere"] },
  "webhook-refused": { authenticated: false, error: "this token was stolen" },
  "webhook-nameless": { authenticated: true, user: { uid: "8" } },
}
