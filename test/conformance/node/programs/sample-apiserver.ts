/**
 * An extension API server for containers, as Kubernetes' sample-apiserver: serves flunders of
 * wardle.example.com/v1alpha1 over HTTPS at port 8443. It trusts who the aggregator says that asks, if the client's
 * certificate is of the authority that the cluster publishes for that, and asks the cluster whether they may.
 */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage } from "node:http"
import { createServer as createTlsServer, type TLSSocket } from "node:tls"

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
const ca = readFileSync(`${ACCOUNT}/ca.crt`, "utf8")
const GROUP = "wardle.example.com"
const VERSION = `${GROUP}/v1alpha1`

interface Flunder {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
  }
  readonly [field: string]: unknown
}
const flunders = new Map<string, Flunder>()
let revision = 1

async function ask(method: string, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`https://kubernetes.default.svc${path}`, {
    method,
    headers: {
      authorization: `Bearer ${readFileSync(`${ACCOUNT}/token`, "utf8")}`,
      "content-type": "application/json",
    },
    tls: { ca },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}
const { data: authentication } = (await ask(
  "GET",
  "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
)) as { data: Record<string, string> }
const allowedNames = JSON.parse(authentication["requestheader-allowed-names"] ?? "[]") as string[]

const status = (code: number, reason: string, message: string) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: code < 300 ? "Success" : "Failure",
  reason,
  message,
  code,
})
const isAggregator = (req: IncomingMessage): boolean => {
  const socket = req.socket as TLSSocket
  const { subject } = socket.getPeerCertificate()
  return socket.authorized && (allowedNames.length === 0 || allowedNames.includes(subject.CN as string))
}

const RESOURCES = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: VERSION,
  resources: [
    {
      name: "flunders",
      singularName: "flunder",
      namespaced: true,
      kind: "Flunder",
      verbs: ["create", "delete", "get", "list"],
    },
  ],
}

async function answer(req: IncomingMessage, text: string): Promise<{ readonly code: number; readonly body: object }> {
  const refuse = (code: number, reason: string, message: string) => ({ code, body: status(code, reason, message) })
  const path = new URL(req.url ?? "/", "http://pod").pathname
  if (path === "/readyz") return { code: 200, body: {} }
  if (!isAggregator(req)) return refuse(401, "Unauthorized", "Unauthorized")
  if (path === `/apis/${VERSION}`) return { code: 200, body: RESOURCES }
  const [, namespace, name] = new RegExp(`^/apis/${VERSION}/namespaces/([^/]+)/flunders(?:/([^/]+))?$`).exec(path) ?? []
  if (namespace === undefined) return refuse(404, "NotFound", `nothing is at ${path}`)
  const verb = { POST: "create", DELETE: "delete", GET: name === undefined ? "list" : "get" }[req.method ?? ""] ?? "?"
  const review = (await ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    spec: {
      user: req.headers["x-remote-user"],
      groups: [req.headers["x-remote-group"] ?? []].flat().flatMap((groups) => groups.split(", ")),
      resourceAttributes: { group: GROUP, version: "v1alpha1", resource: "flunders", verb, namespace },
    },
  })) as { status: { allowed: boolean } }
  if (!review.status.allowed) return refuse(403, "Forbidden", `${req.headers["x-remote-user"]} cannot ${verb} flunders`)
  if (verb === "list") {
    const items = [...flunders.values()].filter(({ metadata }) => metadata.namespace === namespace)
    const metadata = { resourceVersion: String(revision) }
    return { code: 200, body: { kind: "FlunderList", apiVersion: VERSION, metadata, items } }
  }
  if (verb === "create") {
    const sent = JSON.parse(text) as Flunder
    const metadata = { ...sent.metadata, namespace, uid: randomUUID(), resourceVersion: String(++revision) }
    const flunder = { ...sent, kind: "Flunder", apiVersion: VERSION, metadata }
    flunders.set(`${namespace}/${metadata.name}`, flunder)
    return { code: 201, body: flunder }
  }
  const found = flunders.get(`${namespace}/${name}`)
  if (found === undefined) return refuse(404, "NotFound", `flunders "${name}" not found`)
  if (verb === "get") return { code: 200, body: found }
  flunders.delete(`${namespace}/${name}`)
  return { code: 200, body: status(200, "", "") }
}

const http = createServer((req, res) => {
  let text = ""
  req.on("data", (part: Buffer) => (text += part.toString()))
  req.on("end", () => {
    console.log(`${req.method} ${req.url}`)
    answer(req, text).then(
      ({ code, body }) => {
        res.writeHead(code, { "content-type": "application/json" })
        res.end(JSON.stringify(body))
      },
      (err: unknown) => {
        console.error(err)
        res.writeHead(500, { "content-type": "application/json" })
        res.end(JSON.stringify(status(500, "InternalError", String(err))))
      },
    )
  })
})
// Bun's HTTPS server shows no client certificates to its handlers: connections are taken by TLS and handed to HTTP.
createTlsServer(
  {
    cert: readFileSync("/tls/tls.crt"),
    key: readFileSync("/tls/tls.key"),
    ca: authentication["requestheader-client-ca-file"]!,
    requestCert: true,
    rejectUnauthorized: false,
  },
  (socket) => void http.emit("connection", socket),
).listen(8443)
process.on("SIGTERM", () => process.exit(0))
