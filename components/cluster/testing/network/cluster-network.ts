import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { NetworkPolicy } from "../../../../pkg/api/networking/v1/networkpolicy.ts"
import { joinHostPort, parseAddress } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { seededRandom } from "../../../../pkg/clock/random.ts"
import { StoredKind } from "../../../apiserver/cacher/stored-kind.ts"
import { ConnectionError } from "../../../kubelet/runtime/simulated/machine/connection-error.ts"
import type { PodClients, SendingPod } from "../../../kubelet/runtime/simulated/machine/pod-clients.ts"
import { podFacts } from "../../../network-policy/pod-facts.ts"
import { addressesOfName } from "./name-lookup.ts"
import type { ClusterAddresses } from "./network.ts"
import { OnDemandIngress, type OnDemandIngressOptions } from "./ingress/on-demand.ts"
import { forbidden, type Party } from "./policy-verdict.ts"
import {
  ownAddress,
  senderFrom,
  senderOf,
  type From,
  type Patience,
  type Sender,
  type SenderContext,
} from "./sender.ts"
import { ServiceProxy, type Destination } from "./service-destination.ts"
import { NO_LAG, REAL_LAG } from "./views/lag.ts"
import { NodeViews } from "./views/node-views.ts"

export interface ClusterNetworkOptions extends Omit<OnDemandIngressOptions, "random" | "knownTo"> {
  readonly seed: number
  readonly addresses: Pick<ClusterAddresses, "clusterDns" | "clusterCidrs">
  /** Whether nodes hear of changes as late as real ones. */
  readonly isReal: boolean
  /** Whether some containers may send requests. */
  readonly isAsked: boolean
}

/** Milliseconds after which a request of a pod without an answer fails. */
export const TIMEOUT_MS = 30_000
/** The longest time for a name: two attempts of five seconds. Source: resolv.conf(5), `timeout` and `attempts`. */
const LOOKUP_MS = 10_000
const DNS_PORT = 53
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
  readonly #ingress: OnDemandIngress
  #views: NodeViews | undefined

  constructor(options: ClusterNetworkOptions) {
    const { network, seed, clock, isReal } = options
    this.#options = options
    // A sequence of its own: what the test asks changes no names of the cluster.
    this.#random = seededRandom(seed ^ 0x6e_65_74)
    this.#proxy = new ServiceProxy({ random: this.#random, clock })
    const knownTo = (node: string) => this.#followed().knownTo(node)
    this.#ingress = new OnDemandIngress({ ...options, random: this.#random, knownTo })
    network.clients = this
    if (isReal) this.#followed()
  }

  /** Loads the proxy of Ingresses and Gateways where containers may ask it. To be called before time moves. */
  async prepare(): Promise<void> {
    const { isReal, isAsked } = this.#options
    if (isReal || isAsked) await this.#ingress.load()
  }

  /** Starts what runs from the beginning of the cluster. */
  async start(): Promise<void> {
    if (this.#options.isReal) await this.#ingress.start()
  }

  /** Whether requests need code that is not loaded yet. */
  get needsLoading(): boolean {
    return this.#ingress.needsLoading
  }

  /** Loads that code. Takes real time. */
  async load(): Promise<void> {
    await this.#ingress.load()
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
    await this.#ingress.stop()
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
    const found = await addressesOfName(name, sender.dns, { known, outside: (host) => this.#ingress.addressesOf(host) })
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
    const entry = destination.through === undefined ? await this.#ingress.entry(sender, request, host, port) : undefined
    if (entry !== undefined) {
      const why = this.#forbidden(partyOf(sender, host), this.#partyAt(host), port, "TCP")
      if (why !== undefined || (sender.node !== undefined && !network.reaches(sender.node, entry.node)))
        return fails("dropped", why ?? `node ${entry.node} cannot be reached`)
      return this.#ingress.send(request, entry, { timeoutMs, signal })
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
