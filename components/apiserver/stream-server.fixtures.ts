import { createServer as createHttp, type Server as HttpServer } from "node:http"
import { request } from "node:https"
import type { AddressInfo } from "node:net"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { NodeConnectors, type NodeConnector } from "../../pkg/component/node-connector.ts"
import { silent } from "../../pkg/log/log.ts"
import { createApiServer } from "./apiserver.ts"

export const POD = "/api/v1/namespaces/default/pods/web"

const notHere = () => Promise.reject(new Error("not here"))
/** A node that refuses every stream: tests say what it does instead. */
export const NO_STREAMS: NodeConnector = { logs: notHere, exec: notHere, attach: notHere, portForward: notHere }

export interface Answer {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** An API server with a pod `web` on a node `n1`, whose port is that of a web server. What the node does is registered by the tests. */
export async function streamServer() {
  const nodes = new NodeConnectors()
  const server = createApiServer({ clock: realClock, random: systemRandom, log: silent }, {
    listen: { host: "127.0.0.1", port: 0 }, serviceCidr: "10.43.0.0/16", nodePorts: { first: 30000, last: 32767 }, clusterDomain: "cluster.local", nodes, frozen: true,
  })
  await server.start(new AbortController().signal)
  const authorization = `Bearer ${server.files!.adminToken}`
  const port = server.port!
  const target = await webServer()
  const targetPort = (target.address() as AddressInfo).port

  const send = (method: string, path: string, body?: object): Promise<Answer> => new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const req = request({
      host: "127.0.0.1", port, method, path, rejectUnauthorized: false, agent: false,
      headers: { authorization, ...(text === undefined ? {} : { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json", "content-length": String(Buffer.byteLength(text)) }) },
    }, (res) => {
      let answer = ""
      res.on("data", (part: Buffer) => (answer += part.toString()))
      res.on("end", () => resolve({ code: res.statusCode!, headers: res.headers, text: answer }))
    })
    req.on("error", reject)
    req.end(text)
  })

  await send("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "default" } })
  await send("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "web" }, spec: { nodeName: "n1", containers: [{ name: "c", image: "i", ports: [{ name: "http", containerPort: targetPort }] }] } })
  await send("PATCH", `${POD}/status`, { status: { podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] } })
  await send("POST", "/api/v1/nodes", { metadata: { name: "n1" } })
  await send("PATCH", "/api/v1/nodes/n1/status", { status: { addresses: [{ type: "InternalIP", address: "127.0.0.1" }] } })
  await send("POST", "/api/v1/namespaces/default/services", { metadata: { name: "empty" }, spec: { ports: [{ port: 80 }] } })

  return {
    nodes, send, authorization, port, targetPort,
    /** How to dial a stream of the server. */
    dial: () => ({ tls: { ca: server.files!.pki.authorities["server-ca"].certPem }, headers: { authorization } }),
    url: (path: string) => `https://127.0.0.1:${port}${path}`,
    async [Symbol.asyncDispose]() {
      target.closeAllConnections()
      target.close()
      await server.stop()
    },
  }
}

/** Answers with what it was asked; has a page and a redirect, and repeats what comes over a connection that left HTTP. */
async function webServer(): Promise<HttpServer> {
  const target = createHttp((req, res) => {
    if (req.url === "/page") return void res.writeHead(200, { "content-type": "text/html" }).end('<a href="/other">x</a><a href="//far/away">y</a>')
    if (req.url === "/moved") return void res.writeHead(302, { location: "/there" }).end()
    const parts: Buffer[] = []
    req.on("data", (part: Buffer) => parts.push(part))
    req.on("end", () => res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ method: req.method, url: req.url, headers: req.headers, body: Buffer.concat(parts).toString() })))
  })
  target.on("upgrade", (_req, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
    socket.pipe(socket)
  })
  await new Promise<void>((listening) => target.listen(0, "127.0.0.1", listening))
  return target
}
