import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createServer as createHttp, type Server as HttpServer } from "node:http"
import { request } from "node:https"
import type { AddressInfo } from "node:net"
import { connect } from "node:tls"
import { NodeConnectors } from "../../pkg/component/node-connector.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import { connectPortForward } from "../../pkg/streaming/port-forward-client.ts"
import { connectRemoteCommand } from "../../pkg/streaming/remote-command-client.ts"
import { exitCodeStatus } from "../../pkg/streaming/status.ts"
import { createApiServer, type ApiServer } from "./apiserver.ts"

let server: ApiServer
let target: HttpServer
const nodes = new NodeConnectors()
const POD = "/api/v1/namespaces/default/pods/web"

beforeAll(async () => {
  server = createApiServer({ clock: realClock, random: systemRandom, log: silent }, {
    listen: { host: "127.0.0.1", port: 0 }, serviceCidr: "10.43.0.0/16", nodePorts: { first: 30000, last: 32767 }, clusterDomain: "cluster.local", nodes, frozen: true,
  })
  await server.start(new AbortController().signal)
  target = createHttp((req, res) => {
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

  const port = (target.address() as AddressInfo).port
  await send("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "default" } })
  await send("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "web" }, spec: { nodeName: "n1", containers: [{ name: "c", image: "i", ports: [{ name: "http", containerPort: port }] }] } })
  await send("PATCH", `${POD}/status`, { status: { podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] } })
  await send("POST", "/api/v1/nodes", { metadata: { name: "n1" } })
  await send("PATCH", "/api/v1/nodes/n1/status", { status: { addresses: [{ type: "InternalIP", address: "127.0.0.1" }] } })
  await send("POST", "/api/v1/namespaces/default/services", { metadata: { name: "empty" }, spec: { ports: [{ port: 80 }] } })
})
afterAll(async () => {
  target.closeAllConnections()
  target.close()
  await server.stop()
})

const authorization = () => `Bearer ${server.files!.adminToken}`

function send(method: string, path: string, body?: object): Promise<{ readonly code: number; readonly headers: Readonly<Record<string, string | string[] | undefined>>; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const req = request({
      host: "127.0.0.1", port: server.port!, method, path, rejectUnauthorized: false, agent: false,
      headers: { authorization: authorization(), ...(text === undefined ? {} : { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json", "content-length": String(Buffer.byteLength(text)) }) },
    }, (res) => {
      let answer = ""
      res.on("data", (part: Buffer) => (answer += part.toString()))
      res.on("end", () => resolve({ code: res.statusCode!, headers: res.headers, text: answer }))
    })
    req.on("error", reject)
    req.end(text)
  })
}

const dial = () => ({ tls: { ca: server.files!.pki.authorities["server-ca"].certPem }, headers: { authorization: authorization() } })
const url = (path: string) => `https://127.0.0.1:${server.port!}${path}`

describe("streams of a pod", () => {
  test("exec carries streams and exit code between the client and the node", async () => {
    // given a node whose commands repeat their input and end with 3
    const asked: unknown[] = []
    const unregister = nodes.register("n1", {
      logs: () => Promise.reject(new Error("not asked for")), attach: () => Promise.reject(new Error("not asked for")), portForward: () => Promise.reject(new Error("not asked for")),
      async exec(pod, options, accept) {
        asked.push(pod.name, options)
        const session = (await accept())!
        for await (const part of session.stdin!) session.stdout!.write(part)
        await session.exit(exitCodeStatus(3))
        await session.closed
      },
    })

    // when a client runs one
    const streams = { stdin: true, stdout: true, stderr: false, tty: false }
    const command = await connectRemoteCommand({ ...dial(), url: url(`${POD}/exec?command=cat&command=-u&stdin=true&stdout=true`), streams })
    let out = ""
    command.stdout!.on("data", (part: Buffer) => (out += part.toString()))
    command.stdin!.end("hello")

    // then
    expect(await command.status).toMatchObject({ reason: "NonZeroExitCode" })
    expect(out).toBe("hello")
    expect(asked).toEqual(["web", { container: "c", command: ["cat", "-u"], streams }])
    unregister()
  })

  test("a command that cannot be started is an answer, not a stream", async () => {
    const unregister = nodes.register("n1", {
      logs: () => Promise.reject(new Error("no")), attach: () => Promise.reject(new Error("no")), portForward: () => Promise.reject(new Error("no")), exec: () => Promise.reject(new Error("container is not running")),
    })
    const refused = await connectRemoteCommand({ ...dial(), url: url(`${POD}/exec?command=ls&stdout=true`), streams: { stdin: false, stdout: true, stderr: false, tty: false } }).catch((err: unknown) => err)
    expect(refused).toMatchObject({ name: "UpgradeRefused", status: 500, body: expect.stringContaining("container is not running") })
    unregister()
    const gone = await connectRemoteCommand({ ...dial(), url: url(`${POD}/exec?command=ls&stdout=true`), streams: { stdin: false, stdout: true, stderr: false, tty: false } }).catch((err: unknown) => err)
    expect(gone).toMatchObject({ name: "UpgradeRefused", status: 503 })
  })

  test("port-forward carries connections to the node", async () => {
    const unregister = nodes.register("n1", {
      logs: () => Promise.reject(new Error("no")), exec: () => Promise.reject(new Error("no")), attach: () => Promise.reject(new Error("no")),
      async portForward(_pod, accept) {
        for await (const { port, data } of (await accept())!) {
          data.write(`port ${port} says `)
          data.pipe(data)
        }
      },
    })
    const forward = await connectPortForward({ ...dial(), url: url(`${POD}/portforward`) })
    const { data } = forward.open(8080)
    data.end("hello")
    let text = ""
    for await (const part of data as AsyncIterable<Buffer>) text += part.toString()
    expect(text).toBe("port 8080 says hello")
    forward.close()
    unregister()
  })
})

const notHere = () => Promise.reject(new Error("not here"))
const NO_STREAMS = { logs: notHere, exec: notHere, attach: notHere, portForward: notHere }

describe("a proxy", () => {
  test.each([[`${POD}/proxy/a%20b?x=1`], ["/api/v1/namespaces/default/pods/http:web:http/proxy/a%20b?x=1"]])("passes requests on: %s", async (path) => {
    const { code, text } = await send("POST", path, { a: 1 })
    const seen = JSON.parse(text) as { headers: Record<string, string> }
    expect(code).toBe(200)
    expect(seen).toMatchObject({ method: "POST", url: "/a%20b?x=1", body: '{"a":1}' })
    expect(seen.headers.authorization).toBeUndefined()
  })

  test("keeps links and redirects of pages under its path", async () => {
    expect((await send("GET", `${POD}/proxy/page`)).text).toBe(`<a href="${POD}/proxy/other">x</a><a href="//far/away">y</a>`)
    expect((await send("GET", `${POD}/proxy/moved`)).headers.location).toBe(`${POD}/proxy/there`)
    expect(await send("GET", `${POD}/proxy?x=1`)).toMatchObject({ code: 301, headers: { location: `${POD}/proxy/?x=1` } })
  })

  test("says what cannot be reached", async () => {
    expect(JSON.parse((await send("GET", "/api/v1/namespaces/default/services/empty/proxy/")).text)).toMatchObject({ code: 503, message: 'no endpoints available for service "empty"' })
    expect(JSON.parse((await send("GET", "/api/v1/namespaces/default/services/none/proxy/")).text)).toMatchObject({ code: 404 })
    expect(JSON.parse((await send("GET", "/api/v1/namespaces/default/pods/web:1/proxy/")).text)).toMatchObject({ code: 503, message: expect.stringContaining("error trying to reach service") })
    expect(JSON.parse((await send("GET", "/api/v1/nodes/n1/proxy/logs/")).text)).toMatchObject({ code: 503 })
    expect(JSON.parse((await send("GET", "/api/v1/nodes/none/proxy/logs/")).text)).toMatchObject({ code: 404, message: 'nodes "none" not found' })
  })

  test("asks a node's kubelet, by its port too, and hands its answer on as it comes", async () => {
    // given a kubelet that answers with what it was asked, and then goes on
    const asked: string[] = []
    const unregister = nodes.register("n1", {
      ...NO_STREAMS,
      proxy: async ({ method, url }) => {
        asked.push(`${method} ${url}`)
        if (url.endsWith("/whole")) return new Response("whole", { status: 202, headers: { "Content-Type": "text/x", Allow: "GET" } })
        const parts = new ReadableStream<Uint8Array>({
          start(controller) {
            for (const part of ["part ", "by part"]) controller.enqueue(Buffer.from(part))
            controller.close()
          },
        })
        return new Response(parts, { headers: { "Content-Type": "text/plain", "Transfer-Encoding": "chunked" } })
      },
    })

    // then
    expect(await send("GET", "/api/v1/nodes/n1/proxy/a%20b/?x=1")).toMatchObject({ code: 200, text: "part by part", headers: { "content-type": "text/plain" } })
    expect(await send("POST", "/api/v1/nodes/https:n1:10250/proxy/whole")).toMatchObject({ code: 202, text: "whole", headers: { "content-type": "text/x", allow: "GET" } })
    expect(await send("HEAD", "/api/v1/nodes/n1/proxy")).toMatchObject({ code: 200, text: "" })
    expect(asked).toEqual(["GET http://node/a%20b/?x=1", "POST http://node/whole", "GET http://node/"])
    unregister()

    // and another port is the machine's
    const { port } = target.address() as AddressInfo
    expect(JSON.parse((await send("GET", `/api/v1/nodes/n1:${port}/proxy/there`)).text)).toMatchObject({ url: "/there" })
  })

  test("passes upgrades through", async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      let text = ""
      const socket = connect({ host: "127.0.0.1", port: server.port!, rejectUnauthorized: false }, () => socket.write(`GET ${POD}/proxy/ HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization()}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`))
      socket.on("error", reject)
      socket.on("data", (part: Buffer) => {
        text += part.toString()
        if (text.endsWith("\r\n\r\n")) socket.write("ping")
        if (text.endsWith("ping")) {
          resolve(text)
          socket.destroy()
        }
      })
    })
    expect(answer).toStartWith("HTTP/1.1 101")
  })
})

test("a request to upgrade where nothing can be is answered as an ordinary one", async () => {
  const answer = await new Promise<string>((resolve, reject) => {
    let text = ""
    const socket = connect({ host: "127.0.0.1", port: server.port!, rejectUnauthorized: false }, () => socket.write(`GET ${POD} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization()}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`))
    socket.on("error", reject)
    socket.on("data", (part: Buffer) => (text += part.toString()))
    socket.on("close", () => resolve(text))
  })
  expect(answer).toStartWith("HTTP/1.1 200")
  expect(answer).toContain('"name":"web"')
})
