import { joinHostPort } from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import { sleep, type Clock } from "../../../../../pkg/clock/clock.ts"
import type { HttpProbeRequest, PodNetwork } from "../../runtime.ts"
import type { SimulatedContainer } from "../containers/container.ts"

/** The owner of an address in the simulated network. */
export interface Endpoint {
  /** Returns the container that listens on a port; undefined when none does. */
  listener(port: number): SimulatedContainer | undefined
  /** Whether the node of the address can be reached. */
  readonly reachable: boolean
}

/** The network of all nodes: the owner of each address. */
export class SimulatedNetwork {
  readonly #endpoints = new Map<string, Endpoint>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  join(ip: string, endpoint: Endpoint): void {
    this.#endpoints.set(ip, endpoint)
  }
  leave(ip: string): void {
    this.#endpoints.delete(ip)
  }
  has(ip: string): boolean {
    return this.#endpoints.has(ip)
  }

  /** Sends a request to `host`:`port`. @throws Error with the message of Go's dialer */
  async fetch(
    request: Request,
    host: string,
    port: number,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Response> {
    const container = await this.dial(host, port, timeoutMs, signal)
    const { http } = container.behaviour
    if (http === undefined) return new Response("ok\n", { status: 200, statusText: "OK" })
    const answer = Promise.resolve(http(request, container))
    return withTimeout(
      this.#clock,
      answer,
      timeoutMs,
      `Get "${request.url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    )
  }

  /**
   * Connects to a port. @throws Error at once when nothing listens, and after `timeoutMs` when the node does not answer
   */
  async dial(host: string, port: number, timeoutMs: number, signal?: AbortSignal): Promise<SimulatedContainer> {
    const endpoint = this.#endpoints.get(host)
    if (endpoint === undefined || !endpoint.reachable) {
      await sleep(this.#clock, timeoutMs, signal)
      throw new Error(`dial tcp ${joinHostPort(host, port)}: i/o timeout`)
    }
    const container = endpoint.listener(port)
    if (container === undefined) throw new Error(`dial tcp ${joinHostPort(host, port)}: connect: connection refused`)
    return container
  }
}

/** The timeout of a user's request, in milliseconds. */
const USER_MS = 30_000

/** The network as the kubelet of a node uses it: for probes, hooks and requests from the API server. */
export class SimulatedPodNetwork implements PodNetwork {
  readonly #network: SimulatedNetwork

  constructor(network: SimulatedNetwork) {
    this.#network = network
  }

  async httpGet(
    { scheme, host, port, path, headers, timeoutMs }: HttpProbeRequest,
    signal?: AbortSignal,
  ): ReturnType<PodNetwork["httpGet"]> {
    const url = `${scheme.toLowerCase()}://${joinHostPort(host, port)}${path.startsWith("/") ? path : `/${path}`}`
    try {
      const response = await this.#network.fetch(
        new Request(url, { headers: headers.map(({ name, value }): [string, string] => [name, value]) }),
        host,
        port,
        timeoutMs,
        signal,
      )
      return {
        status: response.status,
        statusText: response.statusText,
        body: (await response.text()).slice(0, MAX_BODY),
      }
    } catch (err) {
      const message = err instanceof Error ? err.message : String(err)
      throw new Error(message.startsWith("Get ") ? message : `Get "${url}": ${message}`, { cause: err })
    }
  }

  async tcpConnect(host: string, port: number, timeoutMs: number): Promise<void> {
    await this.#network.dial(host, port, timeoutMs)
  }

  async grpcHealth(
    host: string,
    port: number,
    service: string,
    timeoutMs: number,
  ): ReturnType<PodNetwork["grpcHealth"]> {
    const container = await this.#network.dial(host, port, timeoutMs)
    return container.behaviour.grpc?.(service, container) ?? "SERVING"
  }

  fetch(request: Request, { host, port }: { readonly host: string; readonly port: number }): Promise<Response> {
    return this.#network.fetch(request, host, port, USER_MS, request.signal)
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
