import { createServer, type AddressInfo, type Server, type Socket } from "node:net"
import { TLSSocket, type SecureContext, type TLSSocketOptions } from "node:tls"
import { parseAddress } from "../../pkg/apimachinery/addresses/cidr.ts"
import { plainAddress } from "../../pkg/apimachinery/addresses/plain-address.ts"
import { FairShare } from "../../pkg/flow/fair-share.ts"
import { openFilesLimit } from "../../pkg/runtime/open-files.ts"
import { FirstBytes, type Decide } from "./first-bytes.ts"
import { ServerConnection, type ServerConnectionParts, type ServerLimits } from "./http1/server-connection.ts"
import { LONGEST_HEAD, LongHeads } from "./long-heads.ts"
import { Sessions } from "./http2/sessions.ts"
import type { Exchange } from "./proxy/exchange.ts"
import type { Origin } from "./messages/fields.ts"
import type { Downstream, IncomingRequest } from "./messages/messages.ts"
import type { Watchdog, Watched } from "./proxy/watchdog.ts"
import { readClientHello } from "./tls/client-hello.ts"
import { beginListening } from "../../pkg/runtime/http/begin-listening.ts"

export interface FrontLimits extends ServerLimits {
  /** The most connections of clients. */
  readonly connections: number
  /** Bytes for all heads of requests that are longer than PLAIN_HEAD, beyond that. */
  readonly longHeads: number
}

const LONG_HEADS = 32 * LONGEST_HEAD

/** An eighth of the files that this process may open: each connection may need another one to a backend. */
export const defaultFrontLimits = (): FrontLimits => ({
  headMs: 15_000,
  idleMs: 75_000,
  lingerMs: 500,
  connections: Math.min(16_384, Math.floor(openFilesLimit() / 8)),
  longHeads: LONG_HEADS,
})

/** How a TLS connection is served: decrypted here with a certificate, or passed on to a backend. */
export type Secured =
  | { readonly context: SecureContext }
  | { readonly handOn: (socket: Socket, client: string) => void }

export interface FrontParts {
  /** The address to listen on; all addresses of this machine by default. */
  readonly host?: string
  readonly watchdog: Watchdog
  readonly limits: FrontLimits
  /** Returns how a connection to this port and address of the machine with the server name `name` is served. */
  readonly secure: (port: number, address: string, name: string) => Secured
  readonly begin: (request: IncomingRequest, client: Downstream) => Exchange
  /** Called when an invalid request was answered. */
  readonly refused: (status: number) => void
}

/** An open port. */
export interface Listening {
  readonly port: number
  /** Takes no more connections; those that are there go on. */
  close(): void
}

/** Milliseconds of silence after which the kernel checks whether the other side still exists. */
const PROBE_AFTER_MS = 60_000
const ALPN = ["h2", "http/1.1"]
/** The first bytes of HTTP/2 without TLS. Source: RFC 9113, 3.4. */
const PREFACE = "PRI"

/** The listeners for clients. Each is opened and closed independently. */
export class Front {
  readonly #parts: FrontParts
  readonly #share: FairShare
  readonly #longHeads: LongHeads
  readonly #open = new Set<Socket>()
  readonly #connections = new Set<ServerConnection>()
  readonly #servers = new Map<Server, Promise<void>>()
  readonly #sessions: Sessions
  #isStopping = false

  constructor(parts: FrontParts) {
    this.#parts = parts
    this.#share = new FairShare(parts.limits.connections)
    const { watchdog, limits, begin, refused } = parts
    this.#longHeads = new LongHeads(limits.longHeads)
    this.#sessions = new Sessions({
      watchdog,
      headMs: limits.headMs,
      idleMs: limits.idleMs,
      begin,
      refused,
      roomOf: ({ client }) => this.#longHeads.of(ownerOf(client)),
    })
  }

  /** Listens on `port`; 0 lets the kernel choose. @throws Error that says why it cannot listen */
  listen(protocol: "http" | "tls", port: number): Promise<Listening> {
    const { watchdog, limits } = this.#parts
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      if (!this.#admit(socket)) return
      const origin: Origin = {
        client: plainAddress(socket.remoteAddress),
        isSecure: protocol === "tls",
        port: portOf(server),
        listener: port,
        address: plainAddress(socket.localAddress),
        serverName: undefined,
      }
      const decide = protocol === "tls" ? this.#decideTls(origin) : this.#decideHttp(origin)
      void new FirstBytes(socket, watchdog, limits.headMs, decide)
    })
    return this.#listen(server, port)
  }

  /** Takes no more connections, lets requests under way end for `graceMs`, then cuts what is left. */
  async stop(graceMs: number, wait: (ms: number) => Promise<void>): Promise<void> {
    this.#isStopping = true
    for (const server of this.#servers.keys()) server.close()
    for (const connection of this.#connections) connection.stop()
    this.#sessions.stop()
    const closed = Promise.all(this.#servers.values())
    await Promise.race([closed, wait(graceMs)])
    for (const socket of this.#open) socket.destroy()
    await closed
  }

  /** Refuses a connection when one client address has too many. */
  #admit(socket: Socket): boolean {
    socket.on("error", () => socket.destroy()) // the client closed the connection abruptly
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
    socket.setKeepAlive(true, PROBE_AFTER_MS)
    return true
  }

  #decideHttp(origin: Origin): Decide {
    return (bytes) => {
      const start = bytes.toString("latin1", 0, PREFACE.length)
      if (start === PREFACE) return (socket) => this.#sessions.serve(socket, origin)
      return PREFACE.startsWith(start) ? PREFACE.length : (socket) => this.#serveHttp1(socket, origin)
    }
  }

  #decideTls(origin: Origin): Decide {
    return (bytes) => {
      const hello = readClientHello(bytes)
      if (hello.kind === "incomplete") return hello.needed
      if (hello.kind === "malformed") return (socket) => void socket.destroy()
      return (socket) => {
        const secured = this.#parts.secure(origin.listener, origin.address, hello.name)
        if ("handOn" in secured) secured.handOn(socket, origin.client)
        else this.#serveTls(socket, { ...origin, serverName: hello.name }, secured.context)
      }
    }
  }

  #serveTls(socket: Socket, origin: Origin, secureContext: SecureContext): void {
    const { watchdog, limits } = this.#parts
    const options: TLSSocketOptions = { isServer: true, secureContext, ALPNProtocols: ALPN }
    const secured = new TLSSocket(socket, options)
    const handshake = new Handshake(secured, watchdog, limits.headMs)
    secured.on("error", () => socket.destroy())
    secured.once("close", () => socket.destroy())
    // "secure" is what a server's TLSSocket tells in Bun and in Node.
    secured.once("secure", () => {
      watchdog.remove(handshake)
      if (this.#isStopping) secured.destroy()
      else if (secured.alpnProtocol === "h2") this.#sessions.serve(secured, origin)
      else this.#serveHttp1(secured, origin)
    })
  }

  #serveHttp1(socket: Socket, origin: Origin): void {
    const { watchdog, limits, begin, refused } = this.#parts
    const parts: ServerConnectionParts = {
      watchdog,
      limits,
      begin,
      refused,
      room: this.#longHeads.of(ownerOf(origin.client)),
      isStopping: () => this.#isStopping,
    }
    const connection = new ServerConnection(socket, origin, parts)
    this.#connections.add(connection)
    socket.once("close", () => this.#connections.delete(connection))
    socket.resume()
  }

  async #listen(server: Server, port: number): Promise<Listening> {
    const { host } = this.#parts
    try {
      await beginListening(server, host === undefined ? { port } : { port, host })
    } catch (err) {
      const { code, message } = err as NodeJS.ErrnoException
      const why = code === "EADDRINUSE" ? "another program uses it" : code === "EACCES" ? "permission denied" : message
      throw new Error(`Cannot listen on port ${port}: ${why}`, { cause: err })
    }
    const closed = new Promise<void>((resolve) => void server.once("close", resolve))
    this.#servers.set(server, closed)
    void closed.then(() => this.#servers.delete(server))
    return { port: portOf(server), close: () => void server.close() }
  }
}

/** A TLS handshake that must end in time. */
class Handshake implements Watched {
  due = Infinity
  place = -1
  readonly #socket: TLSSocket

  constructor(socket: TLSSocket, watchdog: Watchdog, ms: number) {
    this.#socket = socket
    watchdog.add(this, ms)
    socket.once("close", () => watchdog.remove(this))
  }

  overdue(): void {
    this.#socket.destroy()
  }
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** Returns what counts as one client: an IPv4 address, or the first 64 bits of an IPv6 address. */
function ownerOf(address: string | undefined): string {
  const plain = plainAddress(address)
  const parsed = parseAddress(plain)
  return parsed?.family === "IPv6" ? String(parsed.number >> 64n) : plain
}
