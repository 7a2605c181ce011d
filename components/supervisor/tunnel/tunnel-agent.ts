/** The agent's end of a tunnel; tunnels.ts describes the protocol. */
import { connect } from "node:net"
import type { Duplex } from "node:stream"
import { sleep, type Clock, type Timer } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { splice } from "../../../pkg/streaming/splice.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { SUPERVISOR_PATHS } from "../supervisor-paths.ts"
import { readLines } from "./lines.ts"

/** A connection that was switched from HTTP to another protocol, and the bytes that came with the answer. */
export interface UpgradedConnection {
  readonly socket: Duplex
  readonly head: Uint8Array
}

export interface TunnelAgentOptions {
  /**
   * Requests `path` with the certificate of the node, and resolves to the raw connection when the server has switched.
   */
  readonly upgrade: (path: string, signal: AbortSignal) => Promise<UpgradedConnection>
  /** The server, for the log. */
  readonly server: string
  /** The port of the kubelet on this machine. */
  readonly kubeletPort: () => number
  /** Called when the tunnel is open again after it has ended, as after a restart of the server. */
  readonly reopened?: () => void
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

const PING_MS = 20_000
/** How long the server may be silent after a ping before the tunnel counts as lost. */
const SILENCE_MS = 10_000
/** Waits between attempts: the first, doubled up to the last. */
const FIRST_WAIT_MS = 250
const LAST_WAIT_MS = 15_000
/** The most connections that a server may have open to the kubelet at once. */
const MOST_CONNECTIONS = 512

/** Keeps a tunnel to one server open until `stop`: a tunnel that ends is opened again. */
export class TunnelAgent {
  readonly #options: TunnelAgentOptions
  readonly #ending = new AbortController()
  #connections = 0
  /** The connections to the server whose bytes go to the kubelet and back. */
  readonly #joined = new Set<Duplex>()

  constructor(options: TunnelAgentOptions) {
    this.#options = options
  }

  /** Runs until `stop`. Never rejects. */
  async run(): Promise<void> {
    const { clock, random, log, server } = this.#options
    const { signal } = this.#ending
    let wait = FIRST_WAIT_MS
    let wasOpen = false
    while (!signal.aborted) {
      try {
        const connection = await this.#options.upgrade(SUPERVISOR_PATHS.tunnel, signal)
        log.debug("Opened the tunnel to a server", { server })
        if (wasOpen) this.#options.reopened?.()
        wasOpen = true
        const since = clock.monotonic()
        await this.#serve(connection)
        // A tunnel that ends at once counts as a failure too: another machine may have the same certificate.
        if (clock.monotonic() - since >= LAST_WAIT_MS) wait = FIRST_WAIT_MS
        if (!signal.aborted) log.info("The tunnel to a server has ended; opening another", { server })
      } catch (err) {
        if (!signal.aborted) log.debug("Cannot open the tunnel to a server; will retry", { server, err, waitMs: wait })
      }
      // The wait is partly random, because many agents lose the same server at once.
      await sleep(clock, wait * (1 + random.next()) * 0.5, signal).catch(() => undefined)
      wait = Math.min(wait * 2, LAST_WAIT_MS)
    }
  }

  stop(): void {
    this.#ending.abort()
  }

  /** Resolves when the connection is closed, by either side. */
  #serve({ socket, head }: UpgradedConnection): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#ending
    const end = () => void socket.destroy()
    const lost = (): void => {
      // A server that has lost its power closes no connection. Without this end its connections would stay open for
      // ever, and count against the limit.
      for (const connection of this.#joined) connection.destroy()
      end()
    }
    signal.addEventListener("abort", end, { once: true })
    let timer: Timer
    const ping = (): void => {
      socket.write("ping\n")
      timer = clock.setTimeout(lost, SILENCE_MS, "upkeep")
    }
    const pingLater = (): void => {
      timer = clock.setTimeout(ping, PING_MS, "upkeep")
    }
    pingLater()
    return new Promise((resolve) => {
      socket.on("error", end)
      socket.once("end", end)
      const closed = (): void => {
        timer.cancel()
        signal.removeEventListener("abort", end)
        resolve()
      }
      if (socket.closed) return closed()
      socket.once("close", closed)
      readLines(socket, head, (line) => {
        // Any line shows that the server is alive.
        timer.cancel()
        pingLater()
        const [, id] = /^dial ([0-9a-f]+)$/.exec(line) ?? []
        if (id !== undefined) void this.#connect(id, socket)
      })
      if (signal.aborted) end()
    })
  }

  /** Opens a connection to the server, and one to the kubelet, and passes bytes between them. */
  async #connect(id: string, control: Duplex): Promise<void> {
    const { upgrade, kubeletPort } = this.#options
    const refuse = (reason: string) =>
      void control.write(`failed ${id} ${reason.replaceAll(/\s+/g, " ").slice(0, 200)}\n`)
    if (this.#connections >= MOST_CONNECTIONS) return refuse("the agent has too many connections")
    this.#connections++
    const kubelet = connect({ host: "127.0.0.1", port: kubeletPort(), allowHalfOpen: true })
    kubelet.setNoDelay(true)
    try {
      await new Promise<void>((resolve, reject) => {
        kubelet.once("connect", resolve)
        kubelet.once("error", reject)
      })
      const { socket, head } = await upgrade(`${SUPERVISOR_PATHS.tunnel}/${id}`, this.#ending.signal)
      if (head.length > 0) kubelet.write(head)
      this.#joined.add(socket)
      await splice(kubelet, socket).finally(() => this.#joined.delete(socket))
    } catch (err) {
      kubelet.destroy()
      refuse(errorMessage(err))
    } finally {
      this.#connections--
    }
  }
}

/** The tunnels of an agent: one to each server. */
export class TunnelAgents {
  readonly #start: (server: string) => TunnelAgent
  readonly #byServer = new Map<string, TunnelAgent>()

  /** `start` returns a running tunnel to a server. */
  constructor(start: (server: string) => TunnelAgent) {
    this.#start = start
  }

  /** Opens tunnels to servers that are new, and ends the tunnels to servers that have gone. */
  follow(servers: readonly string[]): void {
    for (const [server, agent] of this.#byServer) {
      if (servers.includes(server)) continue
      this.#byServer.delete(server)
      agent.stop()
    }
    for (const server of servers) if (!this.#byServer.has(server)) this.#byServer.set(server, this.#start(server))
  }

  stop(): void {
    this.follow([])
  }
}
