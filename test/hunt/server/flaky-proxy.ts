import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Agent, request } from "node:https"
import type { AddressInfo, Socket } from "node:net"

/** The faults of the connections through the proxy. */
export type ProxyFault = { readonly code: number } | { readonly delay: number }

/** A plain HTTP proxy on loopback in front of a server, whose connections fail on demand. */
export interface FlakyProxy extends Disposable {
  readonly url: string
  /** Answers every other request with an error, or delays it. Returns a function that ends the fault. */
  fail(fault: ProxyFault): () => void
  /** Cuts all connections in the middle of their data. */
  cut(): void
}

export async function flakyProxy(port: number): Promise<FlakyProxy> {
  const sockets = new Set<Socket>()
  const faults = new Set<ProxyFault>()
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  let count = 0
  const forward = (from: IncomingMessage, to: ServerResponse) => {
    const { method = "GET", url = "/", headers } = from
    const onward = request({ agent, host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on("error", () => to.destroy())
      answer.pipe(to)
    })
    onward.on("error", () => to.destroy())
    to.on("close", () => onward.destroy())
    from.pipe(onward)
  }
  const server = createServer((from, to) => {
    const fault = count++ % 2 === 0 ? [...faults].at(-1) : undefined
    if (fault === undefined) forward(from, to)
    else if ("delay" in fault) setTimeout(() => forward(from, to), fault.delay)
    else {
      from.resume()
      const { code } = fault
      to.writeHead(code, { "content-type": "application/json" })
      to.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message: "by the hunt", code }))
    }
  })
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    socket.on("error", () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    fail(fault) {
      faults.add(fault)
      return () => void faults.delete(fault)
    },
    [Symbol.dispose]() {
      server.close()
      cut()
      agent.destroy()
    },
  }
}
