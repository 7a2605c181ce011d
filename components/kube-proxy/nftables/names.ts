import { createHash } from "node:crypto"
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { ADDRESS_TYPE, FAMILY_WORD } from "../../../pkg/netfilter/nft.ts"
import type { ServicePort } from "../service-ports.ts"

/** The name of kube-proxy's own table in each family; no other program writes to it, and it is removed as a whole. */
export const TABLE = "k3ts-proxy"
/** Returns the table as `nft` commands name it, with the family before the name. */
export const tableOf = (family: Family): string => `${FAMILY_WORD[family]} ${TABLE}`

/** The mark on packets that POSTROUTING has to masquerade. Source: --nftables-masquerade-bit 14. */
export const MASQUERADE_MARK = "0x4000"

export type Protocol = ServicePort["protocol"]
export const PROTOCOLS: readonly Protocol[] = ["tcp", "udp", "sctp"]

/**
 * What packets are addressed to: an address with a port, or a node port. Each has its own maps, since the key of a node
 * port has no address. Keys and names are upstream's where upstream has them.
 */
export interface Frontends {
  /** The expressions of the key in all maps, and their types. */
  readonly key: string
  readonly type: string
  /** A map to the chain that handles a connection. */
  readonly services: string
  /** A map to the chains that choose among the endpoints of all nodes, and among those of this node. */
  readonly clusterPolicy: string
  readonly localPolicy: string
  /**
   * Maps for each protocol: the address (none for node ports), port and an index give an endpoint. `nft` accepts a
   * random number in a key only if the map's types are declared by example expressions, and an example of a port has
   * one protocol.
   */
  readonly endpoints: (protocol: Protocol) => string
  readonly endpointKey: (protocol: Protocol) => string
  /** A map to what happens to packets of a Service port without endpoints. */
  readonly noEndpoints: string
  /** Chains for traffic from outside, one for each externalTrafficPolicy. */
  readonly externalCluster: string
  readonly externalLocal: string
  /** The prefix of the chains that choose an endpoint at random. */
  readonly spread: string
}

const addressFrontends = (family: Family): Frontends => ({
  key: `${FAMILY_WORD[family]} daddr . meta l4proto . th dport`,
  type: `${ADDRESS_TYPE[family]} . inet_proto . inet_service`,
  services: "service-ips",
  clusterPolicy: "cluster-policy-ips",
  localPolicy: "local-policy-ips",
  endpoints: (protocol) => `endpoint-ips-${protocol}`,
  endpointKey: (protocol) => `${FAMILY_WORD[family]} daddr . ${protocol} dport`,
  noEndpoints: "no-endpoint-services",
  externalCluster: "external-ips",
  externalLocal: "external-local-ips",
  spread: "spread-ips",
})
export const ADDRESSES: Readonly<Record<Family, Frontends>> = {
  IPv4: addressFrontends("IPv4"),
  IPv6: addressFrontends("IPv6"),
}

export const NODE_PORTS: Frontends = {
  key: "meta l4proto . th dport",
  type: "inet_proto . inet_service",
  services: "service-nodeports",
  clusterPolicy: "cluster-policy-nodeports",
  localPolicy: "local-policy-nodeports",
  endpoints: (protocol) => `endpoint-nodeports-${protocol}`,
  endpointKey: (protocol) => `${protocol} dport`,
  noEndpoints: "no-endpoint-nodeports",
  externalCluster: "external-nodeports",
  externalLocal: "external-local-nodeports",
  spread: "spread-nodeports",
}

/**
 * A map of the addresses and ports that only some sources may reach; sets of all cluster IPs, and of endpoints that
 * connect to themselves.
 */
export const FIREWALL_IPS = "firewall-ips"
export const CLUSTER_IPS = "cluster-ips"
export const HAIRPINS = "hairpin-connections"
/** A chain that refuses packets, which a verdict in a map cannot do. */
export const REJECT_CHAIN = "reject-chain"
/** The prefix of the sets that remember which client uses which endpoint. */
export const AFFINITY = "affinity-"

/** The index of the first endpoint of this node in the maps; those of all nodes begin at 0. */
export const LOCAL_OFFSET = 65_536

/**
 * Returns a name with a hash before it, `PREFIX-HASH-name`, truncated to the length that the kernel allows. Source:
 * hashAndTruncate in pkg/proxy/nftables/proxier.go.
 */
export function hashedName(prefix: string, name: string): string {
  const whole = `${prefix}${createHash("sha256").update(name).digest("hex").slice(0, 8).toUpperCase()}-${name}`
  return whole.length > MAX_NAME ? `${whole.slice(0, MAX_NAME - 3)}...` : whole
}
/** Source: NFT_NAME_MAXLEN in linux/netfilter/nf_tables.h, less room for a prefix. */
const MAX_NAME = 240
