import { connect, type Socket } from "node:net"
import type { BackendParts } from "../proxy/backend-parts.ts"
import type { Endpoint } from "../messages/messages.ts"
import type { Watchdog, Watched } from "../proxy/watchdog.ts"
import type { Passthrough } from "../routing/site.ts"
import { chooseByWeight } from "../routing/target.ts"

export type TunnelParts = Pick<BackendParts, "watchdog" | "pick" | "chance">

const CONNECT_MS = 5000
/**
 * Milliseconds without a byte from either side before a tunnel is closed. Long, since programs in a tunnel may keep
 * quiet connections open.
 */
const IDLE_MS = 3_600_000
const MOST_TRIES = 3

/** Passes TLS connections to backends without decrypting them. */
export class Tunnels {
  readonly #parts: TunnelParts
  readonly #open = new Set<Tunnel>()

  constructor(parts: TunnelParts) {
    this.#parts = parts
  }

  /**
   * Picks a backend by weight and connects to it. When no endpoint can be reached, the connection is closed without an
   * answer: the proxy cannot send one in a connection that it does not decrypt.
   */
  open(socket: Socket, client: string, backends: Passthrough["backends"]): void {
    const chosen = chooseByWeight(backends, this.#parts.chance())
    if (chosen?.to === undefined) return void socket.destroy()
    const { to } = chosen
    const tunnel = new Tunnel(socket, this.#parts.watchdog, (tried) => this.#parts.pick(to, tried, client)?.endpoint)
    this.#open.add(tunnel)
    socket.once("close", () => this.#open.delete(tunnel))
    tunnel.connect()
  }

  stop(): void {
    for (const tunnel of this.#open) tunnel.close()
  }
}

class Tunnel implements Watched {
  due = Infinity
  place = -1
  readonly #client: Socket
  readonly #watchdog: Watchdog
  readonly #pick: (tried: readonly Endpoint[]) => Endpoint | undefined
  readonly #tried: Endpoint[] = []
  #backend: Socket | undefined
  #isConnected = false

  constructor(client: Socket, watchdog: Watchdog, pick: (tried: readonly Endpoint[]) => Endpoint | undefined) {
    this.#client = client
    this.#watchdog = watchdog
    this.#pick = pick
    watchdog.add(this, CONNECT_MS)
    client.once("close", () => {
      watchdog.remove(this)
      this.#backend?.destroy()
    })
  }

  connect(): void {
    const endpoint = this.#tried.length < MOST_TRIES ? this.#pick(this.#tried) : undefined
    if (endpoint === undefined) return void this.#client.destroy()
    this.#tried.push(endpoint)
    this.#watchdog.expect(this, CONNECT_MS)
    const { address: host, port } = endpoint
    const backend = connect({ host, port, allowHalfOpen: true, noDelay: true })
    this.#backend = backend
    backend.once("connect", () => this.#join(backend))
    backend.on("error", () => backend.destroy())
    backend.once("close", (hadError) => {
      if (this.#isConnected) {
        if (hadError) this.#client.destroy()
        else this.#client.end()
      } else if (this.#backend === backend && !this.#client.destroyed) this.connect()
    })
  }

  close(): void {
    this.#client.destroy()
  }

  overdue(): void {
    if (this.#isConnected) this.#client.destroy()
    else this.#backend?.destroy()
  }

  #join(backend: Socket): void {
    this.#isConnected = true
    const goesOn = () => this.#watchdog.expect(this, IDLE_MS)
    goesOn()
    this.#client.on("data", goesOn)
    backend.on("data", goesOn)
    this.#client.pipe(backend)
    backend.pipe(this.#client)
  }
}
