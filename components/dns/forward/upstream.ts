import { createSocket } from "node:dgram"
import { connect } from "node:net"
import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { ForwardServer } from "../config/zone.ts"
import { Frames, frame } from "../wire/frames.ts"
import { HEADER_BYTES, layoutOf } from "../wire/layout.ts"
import { FLAG } from "../wire/query.ts"

/** The longest wait for one answer, in milliseconds. Source: CoreDNS plugin/pkg/proxy, readTimeout. */
const TIMEOUT_MS = 2000
/** Milliseconds for which a server that failed too often is asked last. Each further failure doubles the time. */
const FIRST_REST_MS = 500
const LONGEST_REST_MS = 10_000

export interface UpstreamContext {
  readonly clock: Clock
  readonly random: Random
}

/** A server to which queries are forwarded. */
export class Upstream {
  /** Address and port, such as `10.0.0.1:53`, for metrics and the log. */
  readonly name: string
  readonly #server: ForwardServer
  readonly #maxFails: number
  readonly #context: UpstreamContext
  #fails = 0
  #restsUntil = 0

  constructor(server: ForwardServer, maxFails: number, context: UpstreamContext) {
    this.#server = server
    this.#maxFails = maxFails
    this.#context = context
    this.name = joinHostPort(server.address, server.port)
  }

  /** Whether the server has failed so often that the other servers are asked first. */
  get isResting(): boolean {
    return this.#restsUntil > this.#context.clock.monotonic()
  }

  /**
   * Sends a query with a random id, which a forged answer would have to guess. A truncated answer over UDP is fetched
   * again over TCP.
   * @throws Error when no answer comes in time
   */
  async ask(question: Buffer, protocol: "udp" | "tcp"): Promise<Buffer> {
    const message = Buffer.from(question)
    message.set(this.#context.random.bytes(2), 0)
    try {
      let answer = await (protocol === "udp" ? this.#overUdp(message) : this.#overTcp(message))
      if (protocol === "udp" && (answer.readUInt16BE(2) & FLAG.truncated) !== 0) answer = await this.#overTcp(message)
      this.#fails = 0
      this.#restsUntil = 0
      return answer
    } catch (err) {
      this.#fails++
      const rests = this.#fails - this.#maxFails
      if (this.#maxFails > 0 && rests >= 0)
        this.#restsUntil =
          this.#context.clock.monotonic() + Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(rests, 10))
      throw err
    }
  }

  /** Opens a socket for each query: its random port is one more thing that a forger would have to guess. */
  #overUdp(message: Buffer): Promise<Buffer> {
    const { address, port } = this.#server
    return new Promise((resolve, reject) => {
      const socket = createSocket(address.includes(":") ? "udp6" : "udp4")
      const end = (settle: () => void) => {
        timer.cancel()
        socket.removeAllListeners()
        // Errors after the answer are ignored: the query is already settled.
        socket.on("error", () => undefined)
        socket.close()
        settle()
      }
      const timer = this.#context.clock.setTimeout(() => end(() => reject(this.#silent())), TIMEOUT_MS)
      socket.once("error", (err) => end(() => reject(err)))
      socket.on("message", (answer: Buffer) => {
        if (answers(answer, message)) end(() => resolve(answer))
      })
      // A connected socket receives packets from this server only, and reports at once that no process listens on the
      // port.
      socket.connect(port, address, (err?: Error) => {
        // The kernel refuses when there is no route to the server, as while the network is down; `send` would throw.
        if (err instanceof Error) end(() => reject(err))
        else socket.send(message)
      })
    })
  }

  #overTcp(message: Buffer): Promise<Buffer> {
    const { address, port } = this.#server
    return new Promise((resolve, reject) => {
      const socket = connect(port, address)
      const frames = new Frames()
      const end = (settle: () => void) => {
        timer.cancel()
        socket.destroy()
        settle()
      }
      const timer = this.#context.clock.setTimeout(() => end(() => reject(this.#silent())), TIMEOUT_MS)
      socket.on("error", (err) => end(() => reject(err)))
      socket.on("close", () => end(() => reject(new Error(`${this.name} closed the connection`))))
      socket.on("connect", () => socket.write(frame(message)))
      socket.on("data", (bytes: Buffer) => {
        const answer = frames.take(bytes).find((each) => answers(each, message))
        if (answer !== undefined) end(() => resolve(Buffer.from(answer)))
      })
    })
  }

  #silent(): Error {
    return new Error(`${this.name} did not answer within ${TIMEOUT_MS} ms`)
  }
}

/** Returns whether a message is well-formed and answers this question. */
function answers(message: Buffer, question: Buffer): boolean {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== question.readUInt16BE(0)) return false
  if ((message.readUInt16BE(2) & FLAG.response) === 0) return false
  try {
    const [theirs, ours] = [layoutOf(message), layoutOf(question)]
    return theirs.name === ours.name && theirs.type === ours.type && theirs.class === ours.class
  } catch (err) {
    if (err instanceof RangeError) return false
    throw err
  }
}
