import { joinHostPort } from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import { sleep, type Clock } from "../../../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../../../pkg/errors/error-message.ts"
import type { HttpProbeRequest, PodNetwork } from "../../runtime.ts"
import type { SimulatedContainer } from "../containers/container.ts"
import type { NodeFaults } from "../faults.ts"
import { ConnectionError } from "./connection-error.ts"
import { Exchange } from "./exchange.ts"
import type { PodClients } from "./pod-clients.ts"

/** The owner of an address in the simulated network. */
export interface Endpoint {
  /** The node of the address. */
  readonly node: string
  /** The pod that has the address; undefined for an address of the node itself. */
  readonly pod: { readonly namespace: string; readonly name: string } | undefined
  /** Returns the container that listens on a port; undefined when none does. */
  listener(port: number): SimulatedContainer | undefined
}

/** Who connects, where to, and how long it waits. */
export interface Dialling {
  readonly host: string
  readonly port: number
  /** The address and port that the client uses, if rules have sent its connection elsewhere. */
  readonly dialled?: string | undefined
  readonly timeoutMs: number
  /** The node of the client; a client without one is only kept from nodes that are lost or cut off. */
  readonly from?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** The network of all nodes: the owner of each address. */
export class SimulatedNetwork {
  /** How pods use names and Services; without it they reach addresses only. */
  clients: PodClients | undefined
  /** Whether two nodes reach each other, as far as their own faults allow it. */
  connects: (a: string, b: string) => boolean = () => true
  readonly #endpoints = new Map<string, Endpoint>()
  /** The node of each address that nobody has any more. */
  readonly #left = new Map<string, string>()
  readonly #nodes = new Map<string, NodeFaults>()
  readonly #open = new Set<Exchange>()
  readonly #closing = new AbortController()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  addNode(name: string, faults: NodeFaults): void {
    this.#nodes.set(name, faults)
  }
  join(ip: string, endpoint: Endpoint): void {
    this.#left.delete(ip)
    this.#endpoints.set(ip, endpoint)
  }
  leave(ip: string): void {
    const left = this.#endpoints.get(ip)
    if (left !== undefined) this.#left.set(ip, left.node)
    this.#endpoints.delete(ip)
  }
  has(ip: string): boolean {
    return this.#endpoints.has(ip)
  }
  ownerOf(ip: string): Endpoint | undefined {
    return this.#endpoints.get(ip)
  }

  /** Whether packets get from one node, or from a client without a node, to another node. */
  reaches(from: string | undefined, to: string): boolean {
    const [source, target] = [from === undefined ? undefined : this.#nodes.get(from), this.#nodes.get(to)]
    if (target === undefined || target.off || source?.off === true) return false
    if (from === to) return true
    return !target.partitioned && source?.partitioned !== true && (from === undefined || this.connects(from, to))
  }

  /** Sends a request over a connection of its own. @throws ConnectionError, or what the image throws */
  async fetch(request: Request, dialling: Dialling): Promise<Response> {
    return (await this.#begin(request, dialling)).answer()
  }

  /** Sends a request and reads all of the answer, as a probe does. */
  async get(request: Request, dialling: Dialling): Promise<{ readonly response: Response; readonly text: string }> {
    const exchange = await this.#begin(request, dialling)
    try {
      const response = await exchange.head()
      return { response, text: await response.text() }
    } finally {
      exchange.close()
    }
  }

  /**
   * Connects to a port. @throws ConnectionError at once when nothing listens, and after `timeoutMs` when the node does
   * not answer
   */
  async dial(dialling: Dialling): Promise<SimulatedContainer> {
    const { host, port, timeoutMs, from, signal } = dialling
    const endpoint = this.#endpoints.get(host)
    const node = endpoint?.node ?? this.#left.get(host)
    if (node === undefined || !this.reaches(from, node)) {
      await this.silence(timeoutMs, signal)
      throw new ConnectionError("ETIMEDOUT", `dial tcp ${dialledOf(dialling)}: i/o timeout`)
    }
    const container = endpoint?.listener(port)
    if (container === undefined)
      throw new ConnectionError("ECONNREFUSED", `dial tcp ${dialledOf(dialling)}: connect: connection refused`)
    return container
  }

  /** Waits for an answer that does not come. */
  silence(timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    const closing = this.#closing.signal
    return sleep(this.#clock, timeoutMs, signal === undefined ? closing : AbortSignal.any([signal, closing]))
  }

  /** Breaks all connections, since the cluster ends. */
  close(): void {
    const why = new Error("the network is gone: the cluster ends")
    this.#closing.abort(why)
    for (const exchange of this.#open) exchange.break(why)
  }

  async #begin(request: Request, dialling: Dialling): Promise<Exchange> {
    const { timeoutMs, from, signal } = dialling
    const container = await this.dial(dialling)
    const isConnected = () => this.reaches(from, container.node)
    const closed = (exchange: Exchange): void => void this.#open.delete(exchange)
    const dialled = dialledOf(dialling)
    const exchange = new Exchange({
      clock: this.#clock,
      request,
      container,
      dialled,
      timeoutMs,
      signal,
      isConnected,
      closed,
    })
    this.#open.add(exchange)
    return exchange
  }
}

const dialledOf = ({ dialled, host, port }: Dialling): string => dialled ?? joinHostPort(host, port)

/** The timeout of a user's request, in milliseconds. */
const USER_MS = 30_000

/** The network as the kubelet of a node uses it: for probes, hooks and requests from the API server. */
export class SimulatedPodNetwork implements PodNetwork {
  readonly #network: SimulatedNetwork
  readonly #node: string

  constructor(network: SimulatedNetwork, node: string) {
    this.#network = network
    this.#node = node
  }

  async httpGet(
    { scheme, host, port, path, headers, timeoutMs }: HttpProbeRequest,
    signal?: AbortSignal,
  ): ReturnType<PodNetwork["httpGet"]> {
    const url = `${scheme.toLowerCase()}://${joinHostPort(host, port)}${path.startsWith("/") ? path : `/${path}`}`
    try {
      const { response, text } = await this.#network.get(
        new Request(url, { headers: headers.map(({ name, value }): [string, string] => [name, value]) }),
        { host, port, timeoutMs, from: this.#node, signal },
      )
      return { status: response.status, statusText: response.statusText, body: text.slice(0, MAX_BODY) }
    } catch (err) {
      const message = errorMessage(err)
      throw new Error(message.startsWith("Get ") ? message : `Get "${url}": ${message}`, { cause: err })
    }
  }

  async tcpConnect(host: string, port: number, timeoutMs: number): Promise<void> {
    await this.#network.dial({ host, port, timeoutMs, from: this.#node })
  }

  async grpcHealth(
    host: string,
    port: number,
    service: string,
    timeoutMs: number,
  ): ReturnType<PodNetwork["grpcHealth"]> {
    const container = await this.#network.dial({ host, port, timeoutMs, from: this.#node })
    return container.behaviour.grpc?.(service, container) ?? "SERVING"
  }

  /** The request comes from the API server, which is on another machine. */
  fetch(request: Request, { host, port }: { readonly host: string; readonly port: number }): Promise<Response> {
    return this.#network.fetch(request, { host, port, timeoutMs: USER_MS, signal: request.signal })
  }
}

const MAX_BODY = 10 * 1024

/** Returns the result of `work`; rejects with `message` when it takes longer than `timeoutMs`. */
export function withTimeout<T>(clock: Clock, work: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(() => reject(new Error(message)), timeoutMs)
    work.then(resolve, reject).finally(() => timer.cancel())
  })
}
