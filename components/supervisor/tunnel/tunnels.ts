/**
 * The server's end of tunnels. An agent keeps one control connection open, on which the server asks for connections to
 * the agent's kubelet. For each of them the agent opens another connection to the server, and passes its bytes to and
 * from the kubelet. So no connection to the agent's machine is needed, and a connection that nobody reads does not
 * delay the others. k3s does the same with rancher/remotedialer, over one WebSocket.
 *
 * The lines on the control connection: `dial <id>` from the server; `failed <id> <reason>` and `ping` from the agent,
 * and `pong` in answer.
 */
import type { Duplex } from "node:stream"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { readLines } from "./lines.ts"

/** How long an agent may take to open a connection that the server has asked for. */
const DIAL_MS = 10_000
/** The most connections to one agent that may be waited for at once. */
const MOST_PENDING = 256
/** An agent that leaves more bytes than this unread is disconnected, so that it cannot fill the server's memory. */
const MOST_UNREAD_BYTES = 64 * 1024
/** A tunnel counts as lost when the agent has sent nothing, not even a ping, for this time. */
const SILENCE_MS = 60_000

interface Tunnel {
  readonly socket: Duplex
  /** When the last line of the agent came, in milliseconds of the monotonic clock. */
  heard: number
}

interface Pending {
  readonly node: string
  readonly timer: Timer
  resolve(socket: Duplex): void
  reject(err: Error): void
}

export class Tunnels {
  readonly #clock: Clock
  readonly #random: Random
  readonly #byNode = new Map<string, Tunnel>()
  readonly #pending = new Map<string, Pending>()

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock
    this.#random = random
  }

  /** The nodes whose agent has opened a tunnel to this server. */
  get nodes(): readonly string[] {
    return [...this.#byNode.keys()]
  }

  /**
   * Takes the control connection of an agent; its certificate has named the node. Ends the agent's earlier control
   * connection.
   */
  open(node: string, socket: Duplex, head: Uint8Array): void {
    if (socket.destroyed) return // the agent has disconnected while its certificate was being checked
    this.#byNode.get(node)?.socket.destroy()
    const tunnel: Tunnel = { socket, heard: this.#clock.monotonic() }
    this.#byNode.set(node, tunnel)
    socket.on("error", () => socket.destroy()) // the agent notices this too, and opens another tunnel
    socket.once("close", () => this.#close(node, tunnel))
    socket.once("end", () => socket.destroy())
    readLines(socket, head, (line) => {
      tunnel.heard = this.#clock.monotonic()
      if (line === "ping") return tell(socket, "pong")
      const [, id = "", reason = ""] = /^failed (\S+) (.*)$/.exec(line) ?? []
      const pending = this.#pending.get(id)
      if (pending?.node === node) pending.reject(new Error(reason))
    })
  }

  /** Whether this server has asked the agent of the node for a connection with this id, and still waits for it. */
  awaits(node: string, id: string): boolean {
    return this.#pending.get(id)?.node === node
  }

  /** Takes a connection that the agent of a node has opened for `id`. Returns false when nobody waits for it. */
  connected(node: string, id: string, socket: Duplex, head: Uint8Array): boolean {
    const pending = this.#pending.get(id)
    if (pending?.node !== node) return false
    if (head.length > 0) socket.unshift(Buffer.from(head))
    pending.resolve(socket)
    return true
  }

  /** Returns a function that opens connections to the kubelet of a node; undefined when the node has no tunnel. */
  to(node: string): (() => Promise<Duplex>) | undefined {
    const tunnel = this.#byNode.get(node)
    if (tunnel === undefined) return undefined
    if (this.#clock.monotonic() - tunnel.heard > SILENCE_MS) {
      tunnel.socket.destroy()
      return undefined
    }
    return () => this.#dial(node, tunnel)
  }

  /** Ends all tunnels. */
  stop(): void {
    for (const { socket } of this.#byNode.values()) socket.destroy()
  }

  #dial(node: string, { socket }: Tunnel): Promise<Duplex> {
    let underWay = 0
    for (const pending of this.#pending.values()) if (pending.node === node) underWay++
    if (underWay >= MOST_PENDING)
      return Promise.reject(new Error(`${underWay} connections to the agent of ${node} are being opened already`))
    const id = Buffer.from(this.#random.bytes(16)).toString("hex")
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        timer.cancel()
        this.#pending.delete(id)
      }
      const fail = (err: Error): void => {
        settle()
        reject(err)
      }
      const timer = this.#clock.setTimeout(
        () => fail(Object.assign(new Error(`the agent of ${node} does not answer`), { code: "ETIMEDOUT" })),
        DIAL_MS,
      )
      this.#pending.set(id, {
        node,
        timer,
        resolve(connection) {
          settle()
          resolve(connection)
        },
        reject: fail,
      })
      tell(socket, `dial ${id}`)
    })
  }

  #close(node: string, tunnel: Tunnel): void {
    if (this.#byNode.get(node) !== tunnel) return
    this.#byNode.delete(node)
    for (const pending of [...this.#pending.values()])
      if (pending.node === node) pending.reject(new Error(`the agent of ${node} has closed its tunnel`))
  }
}

function tell(socket: Duplex, line: string): void {
  if (socket.writableLength > MOST_UNREAD_BYTES) return void socket.destroy()
  socket.write(`${line}\n`)
}
