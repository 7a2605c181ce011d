import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { connect as connectTls, type TLSSocket } from "node:tls"
import { machineAddress } from "../../components/apiserver/serving/machine-address.fixtures.ts"
import type { TestServer } from "../harness/server.ts"
import { type Identities, NAMESPACE, NODE, POD } from "./identities.ts"

/** A request that a target received: its head and what followed, as text. */
export interface Seen {
  readonly url: string
  readonly head: string
}

/**
 * Something to proxy to, on an address of this machine: it stands for a pod, a service's endpoint and a port of a node.
 * It keeps what it is asked, and answers
 *   /refuse       to a wish to leave HTTP: 200 and a connection that stays open
 *   /deny         to the same: 418 with a body
 *   /html /plain  as many bytes as `?bytes=`
 *   /sink         nothing, and reads no body
 * and with 101 or 200 to everything else.
 */
export interface Target extends AsyncDisposable {
  readonly port: number
  readonly seen: readonly Seen[]
  /** The paths of the proxies that lead here. */
  readonly paths: Readonly<Record<"pods" | "services" | "nodes", string>>
}

const PART = Buffer.alloc(64 * 1024, "x")

export async function startTarget({ administrator }: Identities): Promise<Target> {
  const seen: Seen[] = []
  const note = ({ method, url = "", rawHeaders }: IncomingMessage) =>
    void seen.push({ url, head: `${method} ${url}\n${rawHeaders.join("\n")}` })
  const sockets = new Set<Socket>()
  const server = createServer((req, res) => {
    note(req)
    const { pathname, searchParams } = new URL(req.url ?? "/", "http://target")
    if (pathname === "/sink") return void req.pause()
    const type = pathname === "/html" ? "text/html" : "text/plain"
    let left = Number(searchParams.get("bytes") ?? 0)
    res.writeHead(200, { "content-type": type, "content-length": String(left) })
    const more = () => {
      while (left > 0) {
        const part = PART.subarray(0, left)
        left -= part.length
        if (!res.write(part)) return void res.once("drain", more)
      }
      res.end()
    }
    more()
  })
  server.on("connection", (socket: Socket) => sockets.add(socket))
  server.on("upgrade", (req, socket: Socket) => {
    note(req)
    socket.on("error", () => undefined)
    socket.on("data", (part: Buffer) => void seen.push({ url: "after the upgrade", head: part.toString() }))
    if (req.url === "/refuse") socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
    else if (req.url === "/deny") socket.write("HTTP/1.1 418 I'm a Teapot\r\nContent-Length: 4\r\n\r\nnope")
    else socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nwelcome")
  })
  const address = machineAddress()
  server.listen(0, address)
  await once(server, "listening")
  const { port } = server.address() as AddressInfo

  const inside = `/api/v1/namespaces/${NAMESPACE}`
  const send = async (method: string, path: string, body: object) => {
    const headers = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {}
    const answer = await administrator.request(method, path, { headers, body })
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.toString()}`)
  }
  await send("PATCH", `${inside}/pods/${POD}/status`, { status: { podIP: address, podIPs: [{ ip: address }] } })
  await send("PATCH", `/api/v1/nodes/${NODE}/status`, { status: { addresses: [{ type: "InternalIP", address }] } })
  await send("POST", `${inside}/services`, { metadata: { name: "target" }, spec: { ports: [{ port: 80 }] } })
  await send("POST", `${inside}/endpoints`, {
    metadata: { name: "target" },
    subsets: [
      {
        addresses: [{ ip: address, targetRef: { kind: "Pod", namespace: NAMESPACE, name: POD } }],
        ports: [{ port }],
      },
    ],
  })
  return {
    port,
    seen,
    paths: {
      pods: `${inside}/pods/${POD}:${port}/proxy`,
      services: `${inside}/services/target:80/proxy`,
      nodes: `/api/v1/nodes/${NODE}:${port}/proxy`,
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, "close")
    },
  }
}

/** A connection to the server that sends what a test says, byte for byte. */
export async function dial(
  { port }: Pick<TestServer, "port">,
  tls: { readonly cert?: string; readonly key?: string } = {},
): Promise<TLSSocket> {
  const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"], ...tls })
  socket.on("error", () => undefined)
  await once(socket, "secureConnect")
  return socket
}

/** Returns what is received over a connection until it contains `wanted`, or the connection is closed. */
export function received(socket: Socket | TLSSocket, wanted?: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ""
    const done = () => resolve(text)
    socket.once("close", done)
    socket.on("data", (part: Buffer) => {
      text += part.toString("latin1")
      if (wanted !== undefined && text.includes(wanted)) done()
    })
  })
}
