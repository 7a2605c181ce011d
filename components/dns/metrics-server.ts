import { createServer } from "node:http"
import { joinHostPort } from "../../pkg/apimachinery/addresses/cidr.ts"
import { beginListening } from "../../pkg/runtime/http/begin-listening.ts"

const MOST_CONNECTIONS = 50

/**
 * Serves `/metrics`, `/health` and `/ready` to everyone who can reach the cluster's DNS address, as CoreDNS does.
 * Nothing else can be read here. Returns a function that closes the server. Source: CoreDNS plugin/metrics,
 * plugin/health, plugin/ready.
 * @throws Error that names the address and port when the server cannot listen
 */
export async function serveMetrics(
  address: string,
  port: number,
  parts: { readonly text: () => string; readonly isReady: () => boolean },
): Promise<() => Promise<void>> {
  const server = createServer((request, answer) => {
    const path = (request.url ?? "").split("?")[0]
    answer.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8")
    if (request.method !== "GET" && request.method !== "HEAD") answer.writeHead(405).end()
    else if (path === "/metrics") answer.end(parts.text())
    else if (path === "/health") answer.end("OK")
    else if (path === "/ready") answer.writeHead(parts.isReady() ? 200 : 503).end(parts.isReady() ? "OK" : "")
    else answer.writeHead(404).end()
  })
  server.maxConnections = MOST_CONNECTIONS
  try {
    await beginListening(server, { port, host: address })
  } catch (err) {
    const why = (err as Error).message
    throw new Error(`Cannot serve the metrics of DNS on ${joinHostPort(address, port)}: ${why}`, { cause: err })
  }
  return () =>
    new Promise((done) => {
      server.close(() => done())
      server.closeAllConnections()
    })
}
