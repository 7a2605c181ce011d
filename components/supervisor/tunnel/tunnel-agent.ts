/** The agent's end of a tunnel; see tunnels.ts for what is spoken on it. */
import { connect } from "node:net"
import type { Duplex } from "node:stream"
import { sleep, type Clock, type Timer } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { splice } from "../../../pkg/streaming/splice.ts"
import { DOOR } from "../agent-config.ts"
import { readLines } from "./lines.ts"

/** A connection that has left HTTP, and what came with it. */
export interface UpgradedConnection {
  readonly socket: Duplex
  readonly head: Uint8Array
}

export interface TunnelAgentOptions {
  /** Asks a server to turn a request for `path` into a raw connection, with the certificate of the node. */
  readonly upgrade: (path: string, signal: AbortSignal) => Promise<UpgradedConnection>
  /** The server, for the log. */
  readonly server: string
  /** The port of the kubelet on this machine. */
  readonly kubeletPort: () => number
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

const PING_MS = 20_000
/** How long the server may be silent after a ping. */
const SILENCE_MS = 10_000
/** Waits between attempts: the first, doubled up to the last. */
const FIRST_WAIT_MS = 250
const LAST_WAIT_MS = 15_000
/** Connections for the server at once. */
const MOST_CONNECTIONS = 512

/** Keeps a tunnel to one server open until it is stopped, whatever becomes of the server. */
export class TunnelAgent {
  readonly #options: TunnelAgentOptions
  readonly #ending = new AbortController()
  #connections = 0
  /** The connections to the server that are joined with the kubelet. */
  readonly #joined = new Set<Duplex>()

  constructor(options: TunnelAgentOptions) {
    this.#options = options
  }

  /** Runs until `stop`. Never rejects. */
  async run(): Promise<void> {
    const { clock, random, log, server } = this.#options
    const { signal } = this.#ending
    let wait = FIRST_WAIT_MS
    while (!signal.aborted) {
      try {
        const connection = await this.#options.upgrade(DOOR.tunnel, signal)
        log.debug("Opened the tunnel to a server", { server })
        const since = clock.monotonic()
        await this.#serve(connection)
        // One that ends at once, as when another machine has the same certificate, is a failure too.
        if (clock.monotonic() - since >= LAST_WAIT_MS) wait = FIRST_WAIT_MS
        if (!signal.aborted) log.info("The tunnel to a server has ended; opening another", { server })
      } catch (err) {
        if (!signal.aborted) log.debug("Cannot open the tunnel to a server; will retry", { server, err, waitMs: wait })
      }
      // A part of it is by chance: many agents lose the same server at once.
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
      // A machine without power ends no connection: what it had open would stay for ever, and count as in use.
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
        // Any line shows that the server is there.
        timer.cancel()
        pingLater()
        const [, id] = /^dial ([0-9a-f]+)$/.exec(line) ?? []
        if (id !== undefined) void this.#connect(id, socket)
      })
      if (signal.aborted) end()
    })
  }

  /** Joins the kubelet with a connection to the server that has asked for it. */
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
      const { socket, head } = await upgrade(`${DOOR.tunnel}/${id}`, this.#ending.signal)
      if (head.length > 0) kubelet.write(head)
      this.#joined.add(socket)
      await splice(kubelet, socket).finally(() => this.#joined.delete(socket))
    } catch (err) {
      kubelet.destroy()
      refuse(err instanceof Error ? err.message : String(err))
    } finally {
      this.#connections--
    }
  }
}

/** The tunnels of an agent: one to each server. */
export class TunnelAgents {
  readonly #start: (server: string) => TunnelAgent
  readonly #byServer = new Map<string, TunnelAgent>()

  /** `start` returns a tunnel to a server, which runs. */
  constructor(start: (server: string) => TunnelAgent) {
    this.#start = start
  }

  /** Opens tunnels to servers that are new, and ends those to servers that are none any more. */
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
