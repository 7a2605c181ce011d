import { connect, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import type { Endpoint, Upstream } from "../messages/messages.ts"
import type { Watchdog } from "../proxy/watchdog.ts"
import { ClientConnection } from "./client-connection.ts"

/** How long a connection waits for another request; shorter than most servers keep one open. */
const IDLE_MS = 30_000
/** Within this time after a request a backend hardly ever closes the connection. */
const SURELY_OPEN_MS = 1000
const MOST_IDLE_PER_ENDPOINT = 64
const MOST_IDLE = 1024

interface Waiting {
  readonly connection: ClientConnection
  readonly since: number
}

/**
 * Keeps HTTP/1.1 connections to backends for further requests, with TLS when the backend's protocol needs it.
 * Certificates of backends are not verified, and no server name is sent, as ingress-nginx does without `proxy-ssl-…`
 * annotations.
 */
export class Http1Connector {
  readonly #watchdog: Watchdog
  /** By protocol and endpoint; the connection used most recently is last. */
  readonly #idle = new Map<string, Waiting[]>()
  readonly #open = new Set<Socket>()
  #idleCount = 0

  constructor(watchdog: Watchdog) {
    this.#watchdog = watchdog
  }

  connect(
    endpoint: Endpoint,
    protocol: "http1" | "https1",
    isFresh: boolean,
    connected: (result: Upstream | Error) => void,
  ): () => void {
    const isSecure = protocol === "https1"
    const { address: host, port } = endpoint
    const key = `${protocol} ${endpoint.key}`
    const waiting = this.#take(key, isFresh)
    if (waiting !== undefined) {
      connected(waiting)
      return () => undefined
    }
    const options = { host, port, allowHalfOpen: true, noDelay: true }
    const socket = isSecure
      ? connectTls({ ...options, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] })
      : connect(options)
    this.#open.add(socket)
    let connection: ClientConnection | undefined
    let isSettled = false
    const settle = (result: Upstream | Error) => {
      if (isSettled) return
      isSettled = true
      connected(result)
    }
    socket.on(isSecure ? "secureConnect" : "connect", () => {
      if (isSettled) return void socket.destroy()
      connection = new ClientConnection(
        socket,
        (released) => this.#release(key, released),
        (closed) => this.#forget(key, closed),
      )
      settle(connection)
    })
    socket.on("error", (err: NodeJS.ErrnoException) => {
      const reason = `no connection to an endpoint: ${err.code ?? err.message}`
      if (connection === undefined) settle(new Error(reason))
      else connection.error(`the connection to an endpoint was lost: ${err.code ?? err.message}`)
    })
    socket.on("close", () => {
      this.#open.delete(socket)
      settle(new Error("no connection to an endpoint"))
    })
    return () => {
      isSettled = true
      socket.destroy()
    }
  }

  /** Closes all connections, including those in use. */
  stop(): void {
    for (const socket of this.#open) socket.destroy()
    this.#idle.clear()
  }

  #take(key: string, isFresh: boolean): ClientConnection | undefined {
    const waiting = this.#idle.get(key)
    const last = waiting?.at(-1)
    if (last === undefined || (isFresh && this.#watchdog.now - last.since > SURELY_OPEN_MS)) return undefined
    waiting!.pop()
    this.#idleCount--
    this.#watchdog.remove(last.connection)
    return last.connection.isOpen ? last.connection : undefined
  }

  #release(key: string, connection: ClientConnection): void {
    let waiting = this.#idle.get(key)
    if (waiting === undefined) this.#idle.set(key, (waiting = []))
    if (waiting.length >= MOST_IDLE_PER_ENDPOINT || this.#idleCount >= MOST_IDLE) return connection.close()
    waiting.push({ connection, since: this.#watchdog.now })
    this.#idleCount++
    this.#watchdog.add(connection, IDLE_MS)
  }

  #forget(key: string, connection: ClientConnection): void {
    this.#watchdog.remove(connection)
    const waiting = this.#idle.get(key)
    const index = waiting?.findIndex((one) => one.connection === connection) ?? -1
    if (index < 0) return
    waiting!.splice(index, 1)
    this.#idleCount--
    if (waiting!.length === 0) this.#idle.delete(key)
  }
}
