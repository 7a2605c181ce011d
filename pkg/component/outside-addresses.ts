import { Node } from "../api/core/v1/node/node.ts"
import { Service } from "../api/core/v1/service/service.ts"
import { ServiceCIDR } from "../api/networking/v1/servicecidr.ts"
import {
  canonicalAddress,
  contains,
  parseAddress,
  parseNetwork,
  type Family,
  type Network,
} from "../apimachinery/addresses/cidr.ts"
import type { Index, Informers, Lister, Listers } from "../client/informer.ts"

/** Addresses that no machine has for others: unspecified, loopback, link-local, multicast and broadcast. */
const RESERVED: readonly Network[] = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/4",
  "255.255.255.255/32",
  "::/127",
  "::ffff:0:0/96",
  "fe80::/10",
  "ff00::/8",
].flatMap((cidr) => parseNetwork(cidr) ?? [])

const byAddress: Index<Node> = { name: "outside-addresses/node", of: (node) => addressesOf(node) }

/**
 * Decides which addresses outside of the cluster a Service can have. Whoever writes a Service names its externalIPs,
 * and traffic to them is redirected before any other program of the machine gets it.
 */
export class OutsideAddresses {
  readonly #nodes: Lister<Node>
  readonly #cidrs: Lister<ServiceCIDR>
  /** The parsed ranges of a list of ServiceCIDRs, which seldom changes. */
  #parsed: { readonly text: string; readonly networks: readonly Network[] } = { text: "", networks: [] }

  constructor(informers: Listers) {
    this.#nodes = informers.of(Node)
    this.#cidrs = informers.of(ServiceCIDR)
  }

  /** Returns why a Service cannot have an address in spec.externalIPs; undefined when it can. */
  externalProblem(ip: string): string | undefined {
    return this.clusterProblem(ip) ?? this.#nodeProblem(ip)
  }

  /** Returns why nothing outside of the cluster can have an address: it may be a Service's cluster IP. */
  clusterProblem(ip: string): string | undefined {
    const address = parseAddress(ip)
    if (address === undefined || !this.#networks().some((network) => contains(network, address))) return undefined
    return "it is in a range of cluster IPs"
  }

  /** Returns why no node can have an address, which it writes into its status itself. */
  nodeAddressProblem(ip: string): string | undefined {
    const address = parseAddress(ip)
    if (address === undefined) return "it is no address"
    return RESERVED.some((network) => contains(network, address))
      ? "it is an address within one machine, or of a group of machines"
      : this.clusterProblem(ip)
  }

  #nodeProblem(ip: string): string | undefined {
    const [node] = this.#nodes.by(byAddress, canonicalAddress(ip))
    return node === undefined ? undefined : `it is an address of node ${node.metadata.name}`
  }

  #networks(): readonly Network[] {
    const cidrs = this.#cidrs.list().flatMap(({ spec }) => spec.cidrs ?? [])
    const text = cidrs.join()
    if (text !== this.#parsed.text) this.#parsed = { text, networks: cidrs.flatMap((cidr) => parseNetwork(cidr) ?? []) }
    return this.#parsed.networks
  }
}

/** Returns the addresses in a Node's status, in canonical form; not its names. */
export const addressesOf = ({ status }: Node): readonly string[] =>
  (status.addresses ?? []).flatMap(({ address }) =>
    parseAddress(address) === undefined ? [] : canonicalAddress(address),
  )

/** Returns whether two states of a node have the same addresses. */
export const sameAddresses = (a: Node, b: Node): boolean =>
  a.status.addresses === b.status.addresses || addressesOf(a).join() === addressesOf(b).join()

const withExternalIps: Index<Service> = {
  name: "outside-addresses/external",
  of: ({ spec }) => ((spec.externalIPs ?? []).length > 0 ? [""] : []),
}

/** Returns the Services with external addresses, which the addresses of nodes concern. */
export const servicesWithExternalIps = (informers: Informers): readonly Service[] =>
  informers.of(Service).by(withExternalIps, "")

/** Returns the ranges of cluster IPs of a family. */
export const serviceCidrsOf = (informers: Informers, family: Family): readonly string[] =>
  informers
    .of(ServiceCIDR)
    .list()
    .flatMap(({ spec }) => spec.cidrs ?? [])
    .filter((cidr) => parseNetwork(cidr)?.family === family)
