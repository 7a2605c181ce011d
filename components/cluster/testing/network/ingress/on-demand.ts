import { CustomResourceDefinition } from "../../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { Ingress } from "../../../../../pkg/api/networking/v1/ingress.ts"
import type { Listers } from "../../../../../pkg/client/informer.ts"
import { loaded, type Clock } from "../../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../../pkg/clock/random.ts"
import type { MemoryStorage } from "../../../../../pkg/storage/memory.ts"
import { StoredKind } from "../../../../apiserver/cacher/stored-kind.ts"
import { ConnectionError } from "../../../../kubelet/runtime/simulated/machine/connection-error.ts"
import type { SimulatedNetwork } from "../../../../kubelet/runtime/simulated/machine/network.ts"
import type { Clients } from "../../../clients.ts"
import { ownAddress, type Patience, type Sender } from "../sender.ts"
import type { Entry } from "./client-side.ts"
import type { SimulatedIngress } from "./simulated-ingress.ts"

export interface OnDemandIngressOptions {
  readonly storage: MemoryStorage
  readonly clock: Clock
  readonly random: Random
  readonly network: SimulatedNetwork
  /** The names of all nodes. */
  nodes(): readonly string[]
  /** Returns the addresses of a node. */
  ipsOf(node: string): readonly string[]
  /** Returns the clients for what serves Ingresses and Gateways. */
  clients(): Clients
  /** Whether requests to the API take time. */
  readonly overNetwork: boolean
  /** Returns what the proxy of a node knows of Services and endpoints. */
  knownTo(node: string): Listers
}

const GATEWAYS = "gateways.gateway.networking.k8s.io"

/** The proxy of Ingresses and Gateways, which most tests do not need: its code is loaded when something is to go there. */
export class OnDemandIngress {
  readonly #options: OnDemandIngressOptions
  #ingress: SimulatedIngress | undefined

  constructor(options: OnDemandIngressOptions) {
    this.#options = options
  }

  /** Whether requests need code that is not loaded yet. */
  get needsLoading(): boolean {
    return this.#ingress === undefined && this.#hasRoutes
  }

  /** Loads the code. Takes real time. */
  async load(): Promise<SimulatedIngress> {
    const { SimulatedIngress: Loaded } = await loaded(this.#options.clock, import("./simulated-ingress.ts"))
    const { nodes, ipsOf } = this.#options
    return (this.#ingress ??= new Loaded({ ...this.#options, nodeIps: () => nodes().flatMap((node) => ipsOf(node)) }))
  }

  /** Starts the proxy, unless it runs. Resolves when it knows the routes. */
  async start(): Promise<SimulatedIngress> {
    const ingress = this.#ingress ?? (await this.load())
    await ingress.start()
    return ingress
  }

  async stop(): Promise<void> {
    await this.#ingress?.stop()
  }

  /** Returns the address of a node for a host that an Ingress or a Gateway names, as the world's DNS would; or none. */
  async addressesOf(host: string): Promise<readonly string[]> {
    if (!this.#hasRoutes || !(await this.start()).names(host)) return []
    const { nodes, ipsOf, network, random } = this.#options
    // A load balancer sends nothing to nodes that are lost.
    const up = nodes().filter((node) => ipsOf(node).length > 0 && network.reaches(undefined, node))
    return up.length === 0 ? [] : [ipsOf(up[Math.floor(random.next() * up.length)]!)[0]!]
  }

  /** Returns where a connection comes to the proxy; undefined when it goes elsewhere. */
  async entry(sender: Sender, request: Request, address: string, port: number): Promise<Entry | undefined> {
    const owner = this.#options.network.ownerOf(address)
    if (owner === undefined || owner.pod !== undefined || owner.listener(port) !== undefined || !this.#hasRoutes)
      return undefined
    const isSecure = new URL(request.url).protocol === "https:"
    if (!(await this.start()).isOpen({ isSecure, port })) return undefined
    return { node: owner.node, address, port, isSecure, client: ownAddress(sender, address) }
  }

  /** Sends a request through the proxy, for a client that waits for the head of its answer. */
  async send(request: Request, entry: Entry, { timeoutMs, signal }: Patience): Promise<Response> {
    const ingress = await this.start()
    const late = new ConnectionError(
      "ETIMEDOUT",
      `Get "${request.url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    )
    const waiting = new AbortController()
    const timer = this.#options.clock.setTimeout(() => waiting.abort(late), timeoutMs)
    const until = signal === undefined ? waiting.signal : AbortSignal.any([signal, waiting.signal])
    try {
      return await ingress.serve(request, entry, until)
    } finally {
      timer.cancel()
    }
  }

  /** Whether there is an Ingress, or a definition of Gateway API. */
  get #hasRoutes(): boolean {
    const { storage } = this.#options
    const gateways = new StoredKind(storage, CustomResourceDefinition).get({ name: GATEWAYS })
    return gateways !== undefined || new StoredKind(storage, Ingress).list().length > 0
  }
}
