/** A proxy and backends on sockets of this machine, for tests. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import { connect as connectTls, createServer as createTlsServer } from "node:tls"
import { realClock } from "../../../pkg/clock/real.ts"
import type { CertificatePair } from "../../../pkg/pki/certificate.ts"
import { Front, type FrontLimits } from "../front.ts"
import { Http1Connector } from "../http1/connector.ts"
import { Exchange } from "./exchange.ts"
import type { Picked } from "./backend-parts.ts"
import type { Finished } from "./proxy-parts.ts"
import { Http2Connector } from "../http2/connector.ts"
import type { BackendProtocol, Connector, Endpoint } from "../messages/messages.ts"
import { Mirrors } from "./mirrors.ts"
import { Watchdog } from "./watchdog.ts"
import { SiteRouter, type Router } from "../routing/site.ts"
import type { BackendRef, Target } from "../routing/target.ts"
import { DEFAULT_POLICY, type Policy } from "../routing/policy.ts"
import { RoutingTable } from "../routing/table.ts"
import { Certificates } from "../certificates.ts"

export interface TestProxyOptions {
  readonly policy?: Partial<Policy>
  readonly limits?: Partial<FrontLimits>
  /** Ports of the endpoints of the one backend, in the order in which they are tried. */
  readonly endpoints: readonly number[]
  readonly protocol?: BackendProtocol
  /** Ports of the mirrors, with the share of requests that each gets. */
  readonly mirrors?: readonly { readonly port: number; readonly share?: number }[]
  readonly chance?: () => number
  /** For benchmarks: does not keep finished exchanges. */
  readonly forgets?: boolean
}

/** Starts a proxy that sends all requests, for hosts other than `unknown`, to the endpoints. */
export async function startProxy({
  policy,
  limits,
  endpoints,
  protocol = "http1",
  mirrors = [],
  chance = () => 0,
  forgets = false,
}: TestProxyOptions) {
  const clock = realClock
  const watchdog = new Watchdog(clock)
  const connector = new Http1Connector(watchdog)
  const http2 = new Http2Connector(watchdog)
  const finished: Finished[] = []
  const waiting: { count: number; resolve(): void }[] = []
  const target: Target = {
    owner: { kind: "Ingress", key: "shop/web" },
    backends: [{ weight: 1, to: { namespace: "shop", service: "web", port: 80 } }],
    policy: { ...DEFAULT_POLICY, ...policy },
    mirrors: mirrors.map(({ port, share = 1 }) => ({ to: { namespace: "shop", service: "mirror", port }, share })),
  }
  const table = RoutingTable.of<Target>([
    { host: "", target },
    { host: "unknown", path: { type: "Exact", value: "/x" }, target },
  ])
  const router: Router = {
    find({ host }, path) {
      const found = table.find(host, path)
      return found && { ...found, since: "" }
    },
    findName: () => undefined,
    names: () => false,
  }
  const sites = new SiteRouter([
    { address: undefined, port: 0, protocol: "http", router, mend: "" },
    { address: undefined, port: 0, protocol: "tls", router, mend: "" },
  ])
  const certificates = new Certificates(clock)
  let next = 0
  const pick = ({ service, port: own }: BackendRef, tried: readonly Endpoint[]): Picked | undefined => {
    const known = service === "mirror" ? [Number(own)] : endpoints
    for (let i = 0; i < known.length; i++) {
      const port = known[next++ % known.length]!
      const endpoint = { address: "127.0.0.1", port, key: `127.0.0.1:${port}` }
      if (!tried.some(({ key }) => key === endpoint.key)) return { endpoint, protocol }
    }
    return undefined
  }
  const either: Connector = {
    connect: (endpoint, protocol, isFresh, done) =>
      protocol === "h2c" || protocol === "h2"
        ? http2.connect(endpoint, protocol, done)
        : connector.connect(endpoint, protocol, isFresh, done),
  }
  const copies = new Mirrors({ pick, connector: either, watchdog, chance })
  const front = new Front({
    host: "127.0.0.1",
    watchdog,
    limits: { headMs: 5000, idleMs: 5000, lingerMs: 200, connections: 100, longHeads: 32 * 2 ** 20, ...limits },
    secure: () => ({ context: certificates.unsigned.context }),
    refused: () => undefined,
    begin: (request, client) =>
      new Exchange(
        {
          route: (request, path) => sites.find(request, path),
          chance,
          pick,
          connector: either,
          mirrors: copies,
          watchdog,
          httpsPort: 443,
          finished(exchange) {
            if (forgets) return
            finished.push(exchange)
            for (const each of waiting) if (finished.length >= each.count) each.resolve()
          },
        },
        request,
        client,
      ),
  })
  const { port } = await front.listen("http", 0)
  const { port: tlsPort } = await front.listen("tls", 0)
  return {
    port,
    tlsPort,
    finished,
    /** Resolves when this many exchanges have finished. */
    whenFinished: (count: number) =>
      new Promise<void>((resolve) => (finished.length >= count ? resolve() : void waiting.push({ count, resolve }))),
    async [Symbol.asyncDispose]() {
      connector.stop()
      http2.stop()
      await front.stop(0, async () => undefined)
    },
  }
}

/** One side of a connection whose bytes a test checks. */
export class Peer {
  readonly socket: Socket
  received = ""
  ended = false
  readonly #waiting = new Set<() => void>()

  constructor(socket: Socket) {
    this.socket = socket
    const told = () => this.#waiting.forEach((check) => check())
    socket.on("data", (bytes: Buffer) => {
      this.received += bytes.toString("latin1")
      told()
    })
    const ended = () => {
      this.ended = true
      told()
    }
    socket.on("end", ended)
    socket.on("close", ended)
    socket.on("error", () => undefined)
  }

  send(text: string): void {
    this.socket.write(Buffer.from(text, "latin1"))
  }

  /** Resolves when the text has arrived. Returns all that arrived up to its end, and discards it. */
  async until(text: string): Promise<string> {
    await this.#when(() => this.received.includes(text) || this.ended)
    const at = this.received.indexOf(text)
    if (at < 0)
      throw new Error(`the connection ended without ${JSON.stringify(text)}: ${JSON.stringify(this.received)}`)
    const found = this.received.slice(0, at + text.length)
    this.received = this.received.slice(at + text.length)
    return found
  }

  /** Resolves when the other side has ended. Returns all that arrived. */
  async untilEnd(): Promise<string> {
    await this.#when(() => this.ended)
    return this.received
  }

  #when(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!condition()) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }
}

export function client(port: number): Promise<Peer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => resolve(new Peer(socket)))
    socket.once("error", reject)
  })
}

export function tlsClient(port: number): Promise<Peer> {
  return new Promise((resolve, reject) => {
    const options = { port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] }
    const socket = connectTls(options, () => resolve(new Peer(socket)))
    socket.once("error", reject)
  })
}

/**
 * Starts a server, over TLS if a certificate is given, whose connections the test answers itself, in the order of their
 * arrival.
 */
export async function backend(certificate?: CertificatePair) {
  const arrived: Peer[] = []
  const asked: ((peer: Peer) => void)[] = []
  const sockets = new Set<Socket>()
  const taken = (socket: Socket) => {
    sockets.add(socket)
    const peer = new Peer(socket)
    const ask = asked.shift()
    if (ask === undefined) arrived.push(peer)
    else ask(peer)
  }
  const server =
    certificate === undefined
      ? createServer({ allowHalfOpen: true }, taken)
      : createTlsServer({ cert: certificate.certPem, key: certificate.keyPem, allowHalfOpen: true }, taken)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    /** Returns the next connection. */
    connection: (): Promise<Peer> => {
      const peer = arrived.shift()
      return peer === undefined ? new Promise((resolve) => asked.push(resolve)) : Promise.resolve(peer)
    },
    get unclaimed() {
      return arrived.length
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Returns a port on which nothing listens. */
export async function deadPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
