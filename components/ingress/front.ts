import { createServer, type AddressInfo, type Server, type Socket } from "node:net"
import { createServer as createTlsServer, type TLSSocket } from "node:tls"
import { parseAddress } from "../../pkg/apimachinery/cidr.ts"
import { FairShare } from "../../pkg/flow/fair-share.ts"
import type { CertificatePair } from "../../pkg/pki/certificate.ts"
import { openFilesLimit } from "../../pkg/runtime/open-files.ts"
import type { Certificates } from "./certificates.ts"
import { ServerConnection, type ServerConnectionParts, type ServerLimits } from "./http1/server-connection.ts"
import { Sessions } from "./http2/sessions.ts"
import type { Exchange } from "./proxy/exchange.ts"
import type { Origin } from "./proxy/fields.ts"
import type { Downstream, IncomingRequest } from "./proxy/messages.ts"
import type { Watchdog } from "./proxy/watchdog.ts"

export interface FrontLimits extends ServerLimits {
  /** Connections of clients at once. */
  readonly connections: number
}

/** An eighth of the files that may be open: each connection may have one to a backend beside it. */
export const defaultFrontLimits = (): FrontLimits => ({
  headMs: 15_000,
  idleMs: 75_000,
  lingerMs: 500,
  connections: Math.min(16_384, Math.floor(openFilesLimit() / 8)),
})

export interface FrontParts {
  /** Address to listen on; all of this machine unless given. */
  readonly host?: string
  readonly watchdog: Watchdog
  readonly limits: FrontLimits
  readonly certificates: Pick<Certificates, "contextFor" | "default">
  readonly begin: (request: IncomingRequest, client: Downstream) => Exchange
  /** A request was answered that is not understood. */
  readonly refused: (status: number) => void
}

/** How long a silent connection may be before the kernel asks whether the other side is there. */
const PROBE_AFTER_MS = 60_000

/** The listeners for clients. Each is opened and closed by itself. */
export class Front {
  readonly #parts: FrontParts
  readonly #share: FairShare
  readonly #open = new Set<Socket>()
  readonly #connections = new Set<ServerConnection>()
  readonly #servers: Server[] = []
  readonly #sessions: Sessions
  #isStopping = false

  constructor(parts: FrontParts) {
    this.#parts = parts
    this.#share = new FairShare(parts.limits.connections)
    const { watchdog, limits, begin, refused } = parts
    this.#sessions = new Sessions({ watchdog, headMs: limits.headMs, idleMs: limits.idleMs, begin, refused })
  }

  /** Takes connections on `port`; 0 is any. Gives the port. @throws Error that says why that cannot be */
  async openHttp(port: number): Promise<number> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      if (this.#admit(socket)) this.#serve(socket, false, portOf(server))
    })
    return this.#listen(server, port)
  }

  async openHttps(port: number): Promise<number> {
    const { certificates, limits } = this.#parts
    const { certPem, keyPem }: CertificatePair = certificates.default
    const options = {
      cert: certPem,
      key: keyPem,
      allowHalfOpen: true,
      noDelay: true,
      minVersion: "TLSv1.2" as const,
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: limits.headMs,
      SNICallback: (
        name: string,
        done: (err: Error | null, context?: ReturnType<Certificates["contextFor"]>) => void,
      ) => done(null, certificates.contextFor(name)),
    }
    const server = createTlsServer(options, (socket: TLSSocket) => {
      if (this.#open.has(socket)) this.#serve(socket, true, portOf(server))
    })
    // Bun gives the TLS socket here, before its handshake.
    server.on("connection", (socket) => this.#admit(socket))
    server.on("tlsClientError", (_err, socket) => socket.destroy())
    return this.#listen(server, port)
  }

  /** Takes no more connections, lets requests under way end for `graceMs`, then cuts what is left. */
  async stop(graceMs: number, wait: (ms: number) => Promise<void>): Promise<void> {
    this.#isStopping = true
    const closed = this.#servers.map((server) => new Promise<void>((resolve) => void server.close(() => resolve())))
    for (const connection of this.#connections) connection.stop()
    this.#sessions.stop()
    await Promise.race([Promise.all(closed), wait(graceMs)])
    for (const socket of this.#open) socket.destroy()
    await Promise.all(closed)
  }

  /** One client address may not take all connections. */
  #admit(socket: Socket): boolean {
    socket.on("error", () => socket.destroy()) // a connection cut by the client
    const owner = ownerOf(socket.remoteAddress)
    if (this.#isStopping || !this.#share.take(owner)) {
      socket.destroy()
      return false
    }
    this.#open.add(socket)
    socket.once("close", () => {
      this.#open.delete(socket)
      this.#share.giveBack(owner)
    })
    return true
  }

  #serve(socket: Socket, isSecure: boolean, port: number): void {
    socket.setKeepAlive(true, PROBE_AFTER_MS)
    const { watchdog, limits, begin, refused } = this.#parts
    const origin: Origin = { client: plainAddress(socket.remoteAddress), isSecure, port }
    if ((socket as Partial<TLSSocket>).alpnProtocol === "h2") return this.#sessions.serve(socket as TLSSocket, origin)
    const parts: ServerConnectionParts = { watchdog, limits, begin, refused, isStopping: () => this.#isStopping }
    const connection = new ServerConnection(socket, origin, parts)
    this.#connections.add(connection)
    socket.once("close", () => this.#connections.delete(connection))
  }

  async #listen(server: Server, port: number): Promise<number> {
    const { host } = this.#parts
    await new Promise<void>((resolve, reject) => {
      server.once("error", (err: NodeJS.ErrnoException) => {
        const why =
          err.code === "EADDRINUSE"
            ? "another program uses it"
            : err.code === "EACCES"
              ? "permission denied"
              : err.message
        reject(new Error(`Cannot listen on port ${port}: ${why}`, { cause: err }))
      })
      server.listen(host === undefined ? { port } : { port, host }, resolve)
    })
    this.#servers.push(server)
    return portOf(server)
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** An IPv4 address that a socket for both families tells as IPv6 is written as IPv4. */
const plainAddress = (address = ""): string => (/^::ffff:[\d.]+$/i.test(address) ? address.slice(7) : address)

/** Who counts as one client: an IPv4 address, or the 64 bits of an IPv6 address that one network has. */
function ownerOf(address: string | undefined): string {
  const plain = plainAddress(address)
  const parsed = parseAddress(plain)
  return parsed?.family === "IPv6" ? String(parsed.number >> 64n) : plain
}
