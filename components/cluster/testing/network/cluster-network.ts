import { CustomResourceDefinition } from "../../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { Ingress } from "../../../../pkg/api/networking/v1/ingress.ts"
import { NetworkPolicy } from "../../../../pkg/api/networking/v1/networkpolicy.ts"
import { joinHostPort, parseAddress } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { seededRandom } from "../../../../pkg/clock/random.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import { StoredKind } from "../../../apiserver/cacher/stored-kind.ts"
import { ConnectionError } from "../../../kubelet/runtime/simulated/machine/connection-error.ts"
import type { SimulatedNetwork } from "../../../kubelet/runtime/simulated/machine/network.ts"
import type { PodClients, SendingPod } from "../../../kubelet/runtime/simulated/machine/pod-clients.ts"
import { podFacts } from "../../../network-policy/pod-facts.ts"
import { addressesOfName } from "./name-lookup.ts"
import type { ClusterAddresses } from "./network.ts"
import type { Clients } from "../../clients.ts"
import type { Entry } from "./ingress/client-side.ts"
import type { SimulatedIngress } from "./ingress/simulated-ingress.ts"
import { forbidden, type Party } from "./policy-verdict.ts"
import { ownAddress, senderFrom, senderOf, type From, type Sender, type SenderContext } from "./sender.ts"
import { ServiceProxy, type Destination } from "./service-destination.ts"
import { NO_LAG, REAL_LAG } from "./views/lag.ts"
import { NodeViews } from "./views/node-views.ts"

export interface ClusterNetworkOptions {
  readonly storage: MemoryStorage
  readonly clock: Clock
  readonly seed: number
  readonly addresses: Pick<ClusterAddresses, "clusterDns" | "clusterCidrs">
  /** The names of all nodes. */
  nodes(): readonly string[]
  /** Returns the addresses of a node. */
  ipsOf(node: string): readonly string[]
  readonly network: SimulatedNetwork
  /** Returns the clients for what serves Ingresses and Gateways. */
  clients(): Clients
  /** Whether requests to the API take time. */
  readonly overNetwork: boolean
  /** Whether nodes hear of changes as late as real ones. */
  readonly isReal: boolean
  /** Whether some containers may send requests. */
  readonly isAsked: boolean
}

/** How long a sender waits for its answer, and what ends the wait. */
export interface Patience {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Milliseconds after which a request of a pod without an answer fails. */
export const TIMEOUT_MS = 30_000
/** The longest time for a name: two attempts of five seconds. Source: resolv.conf(5), `timeout` and `attempts`. */
const LOOKUP_MS = 10_000
const DNS_PORT = 53
const GATEWAYS = "gateways.gateway.networking.k8s.io"
/** What NetworkPolicies see of the cluster's DNS: that of network-policy.ts. */
const DNS_POD: NonNullable<Party["pod"]> = {
  namespace: "kube-system",
  labels: { "k8s-app": "kube-dns" },
  ports: [{ name: "dns", protocol: "UDP", number: DNS_PORT }],
}

/** The network of a test cluster as its pods and the test use it: names, Services and NetworkPolicies. */
export class ClusterNetwork implements PodClients {
  readonly #options: ClusterNetworkOptions
  readonly #proxy: ServiceProxy
  readonly #random
  #ingress: SimulatedIngress | undefined
  #views: NodeViews | undefined

  constructor(options: ClusterNetworkOptions) {
    const { network, seed, clock, isReal } = options
    this.#options = options
    // A sequence of its own: what the test asks changes no names of the cluster.
    this.#random = seededRandom(seed ^ 0x6e_65_74)
    this.#proxy = new ServiceProxy({ random: this.#random, clock })
    network.clients = this
    if (isReal) this.#followed()
  }

  /** Loads the proxy of Ingresses and Gateways where containers may ask it. To be called before time moves. */
  async prepare(): Promise<void> {
    const { isReal, isAsked } = this.#options
    if (isReal || isAsked) await this.loadIngress()
  }

  /** Starts what runs from the beginning of the cluster. */
  async start(): Promise<void> {
    if (this.#options.isReal) await this.#ingress!.start()
  }

  /** Whether requests need code that is not loaded yet. */
  get needsLoading(): boolean {
    return this.#ingress === undefined && this.#hasRoutes
  }

  /** Loads the code of the proxy, which most tests do not need. Takes real time. */
  async loadIngress(): Promise<SimulatedIngress> {
    const { SimulatedIngress: Loaded } = await import("./ingress/simulated-ingress.ts")
    const { clock, network, clients, overNetwork, nodes, ipsOf } = this.#options
    return (this.#ingress ??= new Loaded({
      clock,
      random: this.#random,
      network,
      clients,
      overNetwork,
      nodeIps: () => nodes().flatMap((node) => ipsOf(node)),
      knownTo: (node) => this.#followed().knownTo(node),
    }))
  }

  fetch(pod: SendingPod, request: Request): Promise<Response> {
    return this.send(senderOf(pod, this.#context), request, { timeoutMs: TIMEOUT_MS, signal: request.signal })
  }

  lookup(pod: SendingPod, name: string): Promise<readonly string[]> {
    return this.#addressesOf(name, senderOf(pod, this.#context), { timeoutMs: TIMEOUT_MS })
  }

  /** Sends a request for the test. @throws TestClusterError when there is no such sender; ConnectionError */
  fetchFrom(from: From | undefined, request: Request, patience: Patience): Promise<Response> {
    return this.send(senderFrom(from, this.#context), request, patience)
  }

  /** @throws ConnectionError, or what the image throws */
  async send(sender: Sender, request: Request, patience: Patience): Promise<Response> {
    const { hostname, protocol, port: given } = new URL(request.url)
    const host = hostname.replace(/^\[|\]$/g, "") // a URL shows an address of IPv6 in brackets
    const port = Number(given || (protocol === "https:" ? 443 : 80))
    const addresses = await this.#addressesOf(host, sender, patience)
    let refused: unknown
    // As clients do with the addresses of a headless Service.
    for (const address of addresses)
      try {
        return await this.#connect(sender, request, address, port, patience)
      } catch (err) {
        if (!(err instanceof ConnectionError) || err.code !== "ECONNREFUSED") throw err
        refused ??= err
      }
    throw refused
  }

  /** Makes changes of Services and endpoints come later to a node, or to all. Returns a function that ends this. */
  delay(node: string | undefined, ms: number): () => void {
    return this.#followed().delay(node, ms)
  }

  async stop(): Promise<void> {
    await this.#ingress?.stop()
    this.#views?.stop()
  }

  get #context(): SenderContext {
    const { storage, addresses, nodes, ipsOf } = this.#options
    return { storage, addresses, nodes: nodes(), ipsOf }
  }

  #followed(): NodeViews {
    const { storage, clock, seed, isReal } = this.#options
    return (this.#views ??= new NodeViews({ storage, clock, seed, lag: isReal ? REAL_LAG : NO_LAG }))
  }

  async #addressesOf(name: string, sender: Sender, patience: Patience): Promise<readonly string[]> {
    if (parseAddress(name) !== undefined) return [name]
    if (name === "localhost") return ["127.0.0.1"]
    const server = sender.dns.servers?.[0]
    const isCluster = server !== undefined && this.#options.addresses.clusterDns.includes(server)
    const words = `lookup ${name}${server === undefined ? "" : ` on ${joinHostPort(server, DNS_PORT)}`}`
    const party = { ip: server ?? "", pod: DNS_POD, node: undefined, isNode: false }
    const why = isCluster ? this.#forbidden(partyOf(sender, server), party, DNS_PORT, "UDP") : undefined
    if (why !== undefined) {
      await this.#options.network.silence(Math.min(LOOKUP_MS, patience.timeoutMs), patience.signal)
      throw new ConnectionError("EAI_AGAIN", `${words}: i/o timeout (${why})`)
    }
    const known = isCluster ? this.#followed().knownTo(sender.node) : undefined
    const found = await addressesOfName(name, sender.dns, { known, outside: (host) => this.#outside(host) })
    if (found.length === 0) throw new ConnectionError("ENOTFOUND", `${words}: no such host`)
    return this.#shuffled(found)
  }

  async #connect(
    sender: Sender,
    request: Request,
    host: string,
    port: number,
    { timeoutMs, signal }: Patience,
  ): Promise<Response> {
    const { network } = this.#options
    const dialled = joinHostPort(host, port)
    const fails = async (kind: "refused" | "dropped", why: string): Promise<never> => {
      if (kind === "refused")
        throw new ConnectionError("ECONNREFUSED", `dial tcp ${dialled}: connect: connection refused (${why})`)
      await network.silence(timeoutMs, signal)
      throw new ConnectionError("ETIMEDOUT", `dial tcp ${dialled}: i/o timeout (${why})`)
    }
    if (isLoopback(host)) {
      const [own = host] = sender.ips
      return network.fetch(request, { host: own, port, dialled, timeoutMs, signal, from: sender.node })
    }
    const { destination, node } = this.#destination(sender, host, port)
    if (destination.kind !== "to") return fails(destination.kind, destination.why)
    const entry = destination.through === undefined ? await this.#entry(sender, request, host, port) : undefined
    if (entry !== undefined) {
      const why = this.#forbidden(partyOf(sender, host), this.#partyAt(host), port, "TCP")
      if (why !== undefined || (sender.node !== undefined && !network.reaches(sender.node, entry.node)))
        return fails("dropped", why ?? `node ${entry.node} cannot be reached`)
      return this.#throughIngress(request, entry, { timeoutMs, signal })
    }
    const { host: ip, port: number, through } = destination
    const from =
      through?.isMasqueraded === true && node !== undefined
        ? { ip: this.#options.ipsOf(node)[0] ?? "", pod: undefined, node, isNode: true }
        : partyOf(sender, ip)
    const why = this.#forbidden(from, this.#partyAt(ip), number, "TCP")
    if (why !== undefined) return fails("dropped", why)
    const isPod = network.ownerOf(ip)?.pod !== undefined
    if (!sender.isInside && through === undefined && isPod)
      return fails("dropped", "pods have no addresses outside of the cluster")
    try {
      return await network.fetch(request, { host: ip, port: number, dialled, timeoutMs, signal, from: node })
    } catch (err) {
      if (!(err instanceof ConnectionError) || through === undefined) throw err
      throw new ConnectionError(err.code, `${err.message} (${joinHostPort(ip, number)} of ${through.service})`)
    }
  }

  /** Returns the address of a node for a host that an Ingress or a Gateway names, as the world's DNS would; or none. */
  async #outside(host: string): Promise<readonly string[]> {
    if (!this.#hasRoutes) return []
    const ingress = await this.#startedIngress()
    if (!ingress.names(host)) return []
    const { nodes, ipsOf, network } = this.#options
    // A load balancer sends nothing to nodes that are lost.
    const up = nodes().filter((node) => ipsOf(node).length > 0 && network.reaches(undefined, node))
    return up.length === 0 ? [] : [ipsOf(up[Math.floor(this.#random.next() * up.length)]!)[0]!]
  }

  async #startedIngress(): Promise<SimulatedIngress> {
    const ingress = this.#ingress ?? (await this.loadIngress())
    await ingress.start()
    return ingress
  }

  /** Returns where a connection comes to the proxy of Ingresses and Gateways; undefined when it goes elsewhere. */
  async #entry(sender: Sender, request: Request, address: string, port: number): Promise<Entry | undefined> {
    const owner = this.#options.network.ownerOf(address)
    if (owner === undefined || owner.pod !== undefined || owner.listener(port) !== undefined || !this.#hasRoutes)
      return undefined
    const isSecure = new URL(request.url).protocol === "https:"
    const ingress = await this.#startedIngress()
    if (!ingress.isOpen({ isSecure, port })) return undefined
    return { node: owner.node, address, port, isSecure, client: ownAddress(sender, address) }
  }

  /** Sends a request through the proxy of Ingresses and Gateways, for a client that waits for the head of its answer. */
  async #throughIngress(request: Request, entry: Entry, { timeoutMs, signal }: Patience): Promise<Response> {
    const late = new ConnectionError(
      "ETIMEDOUT",
      `Get "${request.url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    )
    const waiting = new AbortController()
    const timer = this.#options.clock.setTimeout(() => waiting.abort(late), timeoutMs)
    const until = signal === undefined ? waiting.signal : AbortSignal.any([signal, waiting.signal])
    try {
      return await this.#ingress!.serve(request, entry, until)
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

  /** Returns where a connection goes, and the node from which it goes there. */
  #destination(
    sender: Sender,
    host: string,
    port: number,
  ): { readonly destination: Destination; readonly node: string | undefined } {
    const views = this.#followed()
    const owner = this.#options.network.ownerOf(host)
    const dialled = { host, port, client: ownAddress(sender, host), isInside: sender.isInside }
    const node = sender.isInside ? sender.node : owner?.node
    const ofService = this.#proxy.ofAddress(dialled, node, views.rulesOf(node))
    if (ofService !== undefined) return { destination: ofService, node }
    const toNode = owner !== undefined && owner.pod === undefined ? owner.node : undefined
    const ofPort = toNode === undefined ? undefined : this.#proxy.ofNodePort(dialled, toNode, views.rulesOf(toNode))
    if (ofPort !== undefined) return { destination: ofPort, node: toNode }
    return { destination: { kind: "to", host, port, through: undefined }, node }
  }

  #forbidden(from: Party, to: Party, port: number, protocol: "TCP" | "UDP"): string | undefined {
    const { storage } = this.#options
    const policies = new StoredKind(storage, NetworkPolicy).list().map(({ object }) => object)
    const namespaces = new StoredKind(storage, Namespace)
    const labelsOf = (name: string) => namespaces.get({ name })?.object.metadata.labels ?? {}
    return forbidden(policies, { from, to, port, protocol }, labelsOf)
  }

  /** Returns what policies know of the owner of an address. */
  #partyAt(ip: string): Party {
    const owner = this.#options.network.ownerOf(ip)
    if (owner === undefined) return { ip, pod: undefined, node: undefined, isNode: false }
    const { node, pod: named } = owner
    if (named === undefined) return { ip, pod: undefined, node, isNode: true }
    const pod = new StoredKind(this.#options.storage, Pod).get(named)?.object
    if (pod === undefined) return { ip, pod: { ...named, labels: {}, ports: [] }, node, isNode: false }
    const { namespace, labels = {}, ports } = podFacts(pod, [ip], node)
    return { ip, pod: { namespace, labels, ports }, node, isNode: false }
  }

  #shuffled(addresses: readonly string[]): readonly string[] {
    const left = [...addresses]
    return addresses.map(() => left.splice(Math.floor(this.#random.next() * left.length), 1)[0]!)
  }
}

const partyOf = (sender: Sender, host: string): Party => ({ ...sender.party, ip: ownAddress(sender, host) })

const isLoopback = (host: string): boolean => host === "::1" || host.startsWith("127.")
