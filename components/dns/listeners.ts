import { createSocket, type Socket } from "node:dgram"
import { createServer, type Server, type Socket as Connection } from "node:net"
import type { Clock } from "../../pkg/clock/clock.ts"
import { contain } from "../../pkg/failure/contain.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { Frames, frame } from "./wire/frames.ts"
import type { Client } from "./wire/query.ts"

/**
 * Milliseconds without a query after which a TCP connection is closed. Source: CoreDNS core/dnsserver, tcpIdleTimeout.
 */
const TCP_IDLE_MS = 10_000
/** The most TCP connections in all, and of one client. */
const LIMITS = { connections: 1000, ofClient: 100 }
/**
 * The most queries of one connection that may wait for an answer. The connection is not read further until one is
 * answered.
 */
const MOST_WAITING = 100
/**
 * How often a failed send is repeated. When a client has closed its port, the kernel reports this as an error of the
 * next send, whoever that is for. Bun, unlike Node.js, then does not send that packet: a client that leaves early would
 * cost other clients their answers.
 */
const MOST_TRIES = 5

export interface ListenersOptions {
  readonly addresses: readonly string[]
  readonly port: number
  /** Returns the response to a message; undefined when the message gets none. */
  readonly respond: (message: Buffer, client: Client) => Buffer | undefined | Promise<Buffer | undefined>
  readonly clock: Clock
  readonly log: Logger
  /** Other limits of TCP connections, in tests. */
  readonly limits?: typeof LIMITS
}

export interface Listeners {
  close(): Promise<void>
}

/** Serves UDP and TCP on each address. @throws Error that names an address on which it cannot listen */
export async function openListeners(options: ListenersOptions): Promise<Listeners> {
  const open: (() => Promise<void>)[] = []
  const close = async () => void (await Promise.all(open.splice(0).map((each) => each())))
  try {
    for (const address of options.addresses) {
      open.push(await listenUdp(address, options))
      open.push(await listenTcp(address, options))
    }
  } catch (err) {
    await close()
    throw err
  }
  return { close }
}

const cannotListen = (where: string, cause: Error): Error =>
  new Error(`Cannot serve DNS on ${where}: ${cause.message}`, { cause })

function listenUdp(address: string, { port, respond, log }: ListenersOptions): Promise<() => Promise<void>> {
  const socket = createSocket(address.includes(":") ? "udp6" : "udp4")
  let isOpen = true
  const send = (answer: Buffer | undefined, to: { readonly port: number; readonly address: string }, tries = 0) => {
    if (answer === undefined || !isOpen) return
    socket.send(answer, to.port, to.address, (err) => {
      if (err !== null && tries < MOST_TRIES) send(answer, to, tries + 1)
    })
  }
  socket.on("message", (message, from) => {
    try {
      const answer = respond(message, { address: from.address, protocol: "udp" })
      if (!(answer instanceof Promise)) return send(answer, from)
      answer.then(
        (late) => send(late, from),
        (err: unknown) => contain("DNS query", err, log),
      )
    } catch (err) {
      contain("DNS query", err, log) // the client asks again, as for any packet that is lost
    }
  })
  return new Promise((resolve, reject) => {
    socket.once("error", (err) => reject(cannotListen(`${address}:${port}/udp`, err)))
    socket.bind(port, address, () => {
      // Clients that left before their answer came cause errors as well, so an error is no reason for a warning.
      socket.on("error", (err) => log.debug("The UDP socket reported an error", { err }))
      resolve(() => {
        isOpen = false
        return closed(socket)
      })
    })
  })
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.close(() => resolve()))

function listenTcp(address: string, options: ListenersOptions): Promise<() => Promise<void>> {
  const { port, log, limits = LIMITS } = options
  /** The clients of connections, those with the latest query last. */
  const connections = new Map<Connection, string>()
  const server: Server = createServer((connection) => {
    const client = connection.remoteAddress ?? ""
    const held = [...connections.values()].filter((each) => each === client).length
    const isRefused =
      held >= limits.ofClient || (connections.size >= limits.connections && !makeRoom(connections, held))
    if (isRefused) return void connection.destroy()
    connections.set(connection, client)
    connection.on("close", () => connections.delete(connection))
    serveConnection(connection, { address: client, protocol: "tcp" }, options, () => {
      if (connections.delete(connection)) connections.set(connection, client)
    })
  })
  return new Promise((resolve, reject) => {
    server.once("error", (err) => reject(cannotListen(`${address}:${port}/tcp`, err)))
    server.listen(port, address, () => {
      server.on("error", (err) => log.debug("The TCP listener reported an error", { err }))
      resolve(
        () =>
          new Promise((done) => {
            server.close(() => done())
            for (const connection of connections.keys()) connection.destroy()
          }),
      )
    })
  })
}

/**
 * Closes the connection that has asked nothing for the longest time, of the client with the most connections, so that
 * a few clients cannot keep all others out. Returns whether there was one: no client has more than the new one, which
 * holds `held`, would have.
 */
function makeRoom(connections: Map<Connection, string>, held: number): boolean {
  const byClient = Map.groupBy(connections, ([, client]) => client)
  const greediest = [...byClient.values()].reduce((most, own) => (own.length > most.length ? own : most), [])
  if (greediest.length <= held + 1) return false
  const [[oldest] = []] = greediest
  connections.delete(oldest!)
  oldest!.destroy()
  return true
}

/** Answers the queries of one connection, each as soon as its response is ready. `asked` is called at each query. */
function serveConnection(
  connection: Connection,
  client: Client,
  { respond, clock, log }: ListenersOptions,
  asked: () => void,
): void {
  const frames = new Frames()
  let waiting = 0
  let idle = clock.setTimeout(() => connection.destroy(), TCP_IDLE_MS)
  const answered = (answer: Buffer | undefined) => {
    waiting--
    if (connection.destroyed) return
    if (answer !== undefined) connection.write(frame(answer))
    readOn()
  }
  /** A client that does not read its answers is not read either, so that they do not pile up. */
  const readOn = () => {
    if (waiting < MOST_WAITING && !connection.writableNeedDrain) connection.resume()
    else connection.pause()
  }
  connection.on("drain", readOn)
  connection.on("close", () => idle.cancel())
  connection.on("error", () => connection.destroy())
  connection.on("data", (bytes: Buffer) => {
    const messages = frames.take(bytes)
    if (messages.length === 0) return
    asked()
    idle.cancel()
    idle = clock.setTimeout(() => connection.destroy(), TCP_IDLE_MS)
    waiting += messages.length
    readOn()
    for (const message of messages)
      (async () => respond(message, client))().then(answered, (err: unknown) => {
        contain("DNS query", err, log)
        connection.destroy()
      })
  })
}
