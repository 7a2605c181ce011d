import { sleep, type Clock } from "../../../../../pkg/clock/clock.ts"
import type { HttpProbeRequest, PodNetwork } from "../../runtime.ts"
import type { SimulatedContainer } from "../containers/container.ts"

/** What listens at an address of the simulated network. */
export interface Endpoint {
  /** The container behind a port, or undefined where nobody listens. */
  listener(port: number): SimulatedContainer | undefined
  /** Whether its node can be reached. */
  readonly reachable: boolean
}

/** One network for all nodes: who has which address. */
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

  /** Sends a request to whatever listens at `host`:`port`. @throws Error in the words that Go's dialer has for it */
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

  /** @throws Error when nothing listens there, after `timeoutMs` when nothing answers */
  async dial(host: string, port: number, timeoutMs: number, signal?: AbortSignal): Promise<SimulatedContainer> {
    const endpoint = this.#endpoints.get(host)
    if (endpoint === undefined || !endpoint.reachable) {
      await sleep(this.#clock, timeoutMs, signal)
      throw new Error(`dial tcp ${host}:${port}: i/o timeout`)
    }
    const container = endpoint.listener(port)
    if (container === undefined) throw new Error(`dial tcp ${host}:${port}: connect: connection refused`)
    return container
  }
}

/** A request of a user may take this long. */
const USER_MS = 30_000

/** The way of one node's kubelet into the network: probes and hooks, and what the API server passes on. */
export const simulatedPodNetwork = (network: SimulatedNetwork): PodNetwork => ({
  async httpGet({ scheme, host, port, path, headers, timeoutMs }: HttpProbeRequest, signal) {
    const url = `${scheme.toLowerCase()}://${host}:${port}${path.startsWith("/") ? path : `/${path}`}`
    try {
      const response = await network.fetch(
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
  },
  async tcpConnect(host, port, timeoutMs) {
    await network.dial(host, port, timeoutMs)
  },
  async grpcHealth(host, port, service, timeoutMs) {
    const container = await network.dial(host, port, timeoutMs)
    return container.behaviour.grpc?.(service, container) ?? "SERVING"
  },
  fetch: (request, { host, port }) => network.fetch(request, host, port, USER_MS, request.signal),
})

const MAX_BODY = 10 * 1024

/** `work`, or an Error with `message` when it takes longer. */
export function withTimeout<T>(clock: Clock, work: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(() => reject(new Error(message)), timeoutMs)
    work.then(resolve, reject).finally(() => timer.cancel())
  })
}
