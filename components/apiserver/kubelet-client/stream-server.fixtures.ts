import { createServer as createHttp, type Server as HttpServer } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import type { NodeConnector } from "../../../pkg/component/node-connector.ts"
import type { PortForwardClient } from "../../../pkg/streaming/port-forward-client.ts"
import { exitCodeStatus } from "../../../pkg/streaming/status.ts"
import { startHttpServer, type Answer } from "../serving/http-server.fixtures.ts"
import { machineAddress } from "../serving/machine-address.fixtures.ts"

export const POD = "/api/v1/namespaces/default/pods/web"

const notHere = () => Promise.reject(new Error("not here"))
/** A node that refuses every stream: tests say what it does instead. */
export const NO_STREAMS: NodeConnector = { logs: notHere, exec: notHere, attach: notHere, portForward: notHere }

/** A port of a node: it sends its number, and then the data that it receives. */
export const TALKING_PORTS: NodeConnector["portForward"] = async (_pod, accept) => {
  for await (const { port, data } of (await accept())!) {
    data.write(`port ${port} says `)
    data.pipe(data)
  }
}

/** Sends data over a forwarded port, and returns the data that come back. */
export async function heardFrom(forward: PortForwardClient, port: number, told: string): Promise<string> {
  const { data } = forward.open(port)
  data.end(told)
  let text = ""
  for await (const part of data as AsyncIterable<Buffer>) text += part.toString()
  return text
}

/** A command that repeats its input and ends with 3; `asked` notes what it was asked. */
export const repeating =
  (asked: unknown[]): NodeConnector["exec"] =>
  async (pod, options, accept) => {
    asked.push(pod.name, options)
    const session = (await accept())!
    for await (const part of session.stdin!) session.stdout!.write(part)
    await session.exit(exitCodeStatus(3))
  }

/**
 * An API server with a pod `web` on a node `n1`, whose port is that of a web server. What the node does is registered
 * by the tests.
 */
export async function streamServer() {
  const host = await startHttpServer()
  const { nodes, port, ca, adminToken } = host
  const target = await webServer()
  const targetPort = (target.address() as AddressInfo).port
  const send = (method: string, path: string, body?: object): Promise<Answer> =>
    host.call(
      method,
      path,
      body === undefined
        ? {}
        : {
            headers: { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" },
            body: JSON.stringify(body),
          },
    )

  await send("POST", "/api/v1/namespaces/default/pods", {
    metadata: { name: "web" },
    spec: {
      nodeName: "n1",
      containers: [{ name: "c", image: "i", ports: [{ name: "http", containerPort: targetPort }] }],
    },
  })
  const address = machineAddress()
  await send("PATCH", `${POD}/status`, { status: { podIP: address, podIPs: [{ ip: address }] } })
  await send("POST", "/api/v1/nodes", { metadata: { name: "n1" } })
  await send("PATCH", "/api/v1/nodes/n1/status", {
    status: { addresses: [{ type: "InternalIP", address }] },
  })
  await send("POST", "/api/v1/namespaces/default/services", {
    metadata: { name: "empty" },
    spec: { ports: [{ port: 80 }] },
  })

  return {
    nodes,
    send,
    port,
    targetPort,
    authorization: `Bearer ${adminToken}`,
    /** How to dial a stream of the server. */
    dial: () => ({ tls: { ca }, headers: { authorization: `Bearer ${adminToken}` } }),
    url: (path: string) => `https://127.0.0.1:${port}${path}`,
    async [Symbol.asyncDispose]() {
      target.closeAllConnections()
      target.close()
      await host.stop()
    },
  }
}

/**
 * Answers with what it was asked; has a page and a redirect, and repeats what comes over a connection that left HTTP.
 */
async function webServer(): Promise<HttpServer> {
  const target = createHttp((req, res) => {
    const page = '<a href="/other">x</a><a href="//far/away">y</a>'
    if (req.url === "/page") return void res.writeHead(200, { "content-type": "text/html" }).end(page)
    if (req.url === "/packed")
      return void res
        .writeHead(200, { "content-type": "text/html; charset=utf-8", "content-encoding": "gzip" })
        .end(gzipSync(page))
    if (req.url === "/moved") return void res.writeHead(302, { location: "/there" }).end()
    const parts: Buffer[] = []
    req.on("data", (part: Buffer) => parts.push(part))
    req.on("end", () =>
      res.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify({
          method: req.method,
          url: req.url,
          headers: req.headers,
          body: Buffer.concat(parts).toString(),
        }),
      ),
    )
  })
  target.on("upgrade", (_req, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
    socket.pipe(socket)
  })
  await new Promise<void>((listening) => target.listen(0, machineAddress(), listening))
  return target
}
