import { Secret } from "../../../../../pkg/api/core/v1/secret/secret.ts"
import type { Resource } from "../../../../../pkg/apimachinery/resource.ts"
import { sleep } from "../../../../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../../../../pkg/component/component.ts"
// The component loads these late. Here they are loaded with it: a load takes real time, in which virtual time moves.
import "../../../../ingress/gateway/watching/following.ts"
import "../../../../ingress/gateway/watching/install.ts"
import { createIngress } from "../../../../ingress/ingress.ts"
import "../../../../ingress/routing/compile.ts"
import "../../../../ingress/routing/ingress-router.ts"
import { systemAccount, type Clients } from "../../../clients.ts"
import type { Entry } from "./client-side.ts"
import { SimulatedPlane, type SimulatedPlaneParts } from "./simulated-plane.ts"

export interface SimulatedIngressOptions extends Omit<SimulatedPlaneParts, "httpsPort"> {
  clients(): Clients
  /** Whether requests to the API take time. */
  readonly overNetwork: boolean
  /** Returns the addresses of all nodes. */
  nodeIps(): readonly string[]
}

const HTTP_PORT = 80
const HTTPS_PORT = 443
const API_PORT = 6443
/** Longer than the lists of all kinds take over the network between servers, in milliseconds. */
const NETWORK_MS = 500

/** The ingress proxy of a test cluster: the real component, which serves requests in memory on every node. */
export class SimulatedIngress {
  readonly #options: SimulatedIngressOptions
  readonly #plane: SimulatedPlane
  #starting: Promise<void> | undefined
  #running: { readonly component: Component; readonly context: ComponentContext } | undefined

  constructor(options: SimulatedIngressOptions) {
    this.#options = options
    this.#plane = new SimulatedPlane({ ...options, httpsPort: HTTPS_PORT })
  }

  /** Starts the proxy, unless it runs. Resolves when it knows the routes. */
  async start(): Promise<void> {
    await (this.#starting ??= this.#start())
  }

  async stop(): Promise<void> {
    if (this.#running === undefined) return
    const { component, context } = this.#running
    const stopping = component.stop()
    // What waits for the first list of a kind waits for ever, once the informers have stopped.
    const isSynced = context.informers.pending().length === 0
    this.#options.clients().release(context)
    if (isSynced) await stopping
  }

  /** Whether a rule names the host. */
  names(host: string): boolean {
    return this.#plane.names("", host)
  }

  isOpen({ isSecure, port }: Pick<Entry, "isSecure" | "port">): boolean {
    return this.#plane.portOf(isSecure ? "tls" : "http", port) !== undefined
  }

  serve(request: Request, entry: Entry, signal: AbortSignal | undefined): Promise<Response> {
    return this.#plane.serve(request, entry, signal)
  }

  async #start(): Promise<void> {
    const { clients, nodeIps, clock, overNetwork } = this.#options
    const fieldSelectors = new Map([[Secret as Resource, "type=kubernetes.io/tls"]])
    const context = clients().contextFor(systemAccount("k3ts-ingress"), { fieldSelectors })
    const component = createIngress(context, {
      nodeIps: nodeIps(),
      apiPort: API_PORT,
      httpPort: HTTP_PORT,
      httpsPort: HTTPS_PORT,
      gateway: { addresses: [], reserved: () => undefined },
      openPlane: async (changed) => {
        const secrets = context.informers.of(Secret)
        await secrets.whenSynced()
        secrets.on({ added: changed, updated: changed, deleted: changed })
        return this.#plane
      },
    })
    this.#running = { component, context }
    await component.start(new AbortController().signal)
    // The routes are worked out in the background: at this instant, or when servers have answered over a network.
    await sleep(clock, overNetwork ? NETWORK_MS : 1)
  }
}
