import { createSocket, type Socket } from "node:dgram"
import { createServer, type Server } from "node:net"
import { decode, encode, type Packet, type Question } from "dns-packet"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { answerOwn, FLAG, RCODE, soa } from "./answer.ts"
import { createForwarder } from "./forward.ts"
import { holdAddresses } from "./address.ts"
import { Records } from "./records.ts"

export interface DnsConfig {
  /** Where pods ask: the cluster IPs of the Service kube-dns, one of each family. */
  readonly addresses: readonly string[]
  readonly port?: number
  /** Such as cluster.local. */
  readonly domain: string
  /** Servers for all other names, those of the host. */
  readonly upstreams: readonly string[]
  /** Puts `addresses` on a network interface of the host first; not where they are there already, as in tests. */
  readonly holdAddresses: boolean
}

/**
 * The largest UDP response to a client that does not announce a size, and to one that does. Sources: RFC 1035 4.2.1,
 * DNS flag day 2020.
 */
const PLAIN_UDP = 512
const MAX_UDP = 1232
/** A TCP client that sends nothing for this long is disconnected. */
const TCP_IDLE_MS = 10_000

/** Answers DNS queries of pods: for names of the cluster from informers, for others by forwarding. */
export function createDns(context: ComponentContext, config: DnsConfig): Component {
  const { informers, random, clock } = context
  const log = context.log.child({ component: "dns" })
  const { addresses, domain, port = 53 } = config
  /** Made at start: its informers list at once, and before that there may be nobody to ask. */
  let records: Records | undefined
  const forwarder = createForwarder(
    config.upstreams.filter((server) => !addresses.includes(server)),
    context,
  )
  let sockets: readonly Socket[] = []
  let servers: readonly Server[] = []
  let problem: string | undefined = "not started"

  async function answer(query: Packet): Promise<Packet> {
    const [question] = query.questions ?? []
    const failed = (rcode: number): Packet => ({
      type: "response",
      id: query.id ?? 0,
      flags: FLAG.recursionAvailable | rcode,
      questions: query.questions ?? [],
    })
    if (question === undefined) return failed(RCODE.formatError)
    if (records === undefined) return failed(RCODE.serverFailure)
    const own = answerOwn(query, question, records, domain, random)
    if (own === undefined) return (await forwarder.ask(query)) ?? failed(RCODE.serverFailure)
    if (own.external === undefined) return own.packet
    const outside = await forwarder.ask({ ...query, questions: [{ ...question, name: own.external } as Question] })
    return { ...own.packet, answers: [...(own.packet.answers ?? []), ...(outside?.answers ?? [])] }
  }

  /**
   * Returns the response. One that is too large is truncated and marked, so that the client repeats the query over TCP.
   */
  async function respond(bytes: Buffer, overUdp: boolean): Promise<Buffer | undefined> {
    let query: Packet
    try {
      query = decode(bytes)
    } catch {
      return undefined // invalid queries get no response
    }
    if (query.type !== "query") return undefined
    const answered = await answer(query)
    const packet = encode(answered)
    const edns = (query.additionals ?? []).find(({ type }) => type === "OPT")
    const limit =
      edns === undefined
        ? PLAIN_UDP
        : Math.min(MAX_UDP, Math.max(PLAIN_UDP, (edns as { udpPayloadSize?: number }).udpPayloadSize ?? PLAIN_UDP))
    if (!overUdp || packet.length <= limit) return packet
    return encode({
      ...answered,
      flags: (answered.flags ?? 0) | FLAG.truncated,
      answers: [],
      additionals: [],
      authorities: [soa(domain)],
    })
  }

  return {
    name: "dns",
    problem: () => problem,
    async start(signal) {
      records = new Records(informers, domain)
      await informers.whenSynced()
      if (config.holdAddresses) await holdAddresses(addresses)
      signal.throwIfAborted()
      for (const address of addresses) {
        sockets = [...sockets, await listenUdp(address)]
        servers = [...servers, await listenTcp(address)]
      }
      problem = undefined
      log.info("Serving DNS", { addresses: addresses.join(","), domain, upstreams: config.upstreams.join(",") })
    },
    async stop() {
      problem = "stopped"
      const [oldSockets, oldServers] = [sockets, servers]
      sockets = []
      servers = []
      for (const socket of oldSockets) await new Promise<void>((resolve) => socket.close(resolve))
      for (const server of oldServers) await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }

  function listenUdp(address: string): Promise<Socket> {
    const socket = createSocket(address.includes(":") ? "udp6" : "udp4")
    socket.on("message", (bytes, { address: client, port: clientPort }) => {
      respond(bytes, true).then(
        (reply) => {
          if (reply !== undefined && sockets.includes(socket)) socket.send(reply, clientPort, client)
        },
        (err: unknown) => log.error("DNS question failed", { err }),
      )
    })
    return new Promise((resolve, reject) => {
      socket.once("error", (err) =>
        reject(new Error(`Cannot serve DNS on ${address}:${port}/udp: ${err.message}`, { cause: err })),
      )
      socket.bind(port, address, () => {
        socket.on("error", (err) => log.warn("DNS socket failed", { err }))
        resolve(socket)
      })
    })
  }

  function listenTcp(address: string): Promise<Server> {
    const server = createServer((socket) => {
      let received = Buffer.alloc(0)
      const idle = clock.setTimeout(() => socket.destroy(), TCP_IDLE_MS)
      socket.on("close", () => idle.cancel())
      socket.on("error", () => socket.destroy())
      socket.on("data", (bytes: Buffer) => {
        received = Buffer.concat([received, bytes])
        while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
          const message = received.subarray(2, 2 + received.readUInt16BE(0))
          received = received.subarray(2 + message.length)
          respond(message, false).then(
            (reply) => {
              if (reply !== undefined && !socket.destroyed)
                socket.write(Buffer.concat([Buffer.from([reply.length >> 8, reply.length & 255]), reply]))
            },
            (err: unknown) => log.error("DNS question failed", { err }),
          )
        }
      })
    })
    return new Promise((resolve, reject) => {
      server.once("error", (err) =>
        reject(new Error(`Cannot serve DNS on ${address}:${port}/tcp: ${err.message}`, { cause: err })),
      )
      server.listen(port, address, () => resolve(server))
    })
  }
}
