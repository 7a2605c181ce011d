import { createHash } from "node:crypto"
import type { Family } from "../../../pkg/apimachinery/cidr.ts"
import { ADDRESS_TYPE, FAMILY_WORD } from "../../../pkg/netfilter/nft.ts"
import type { ServicePort } from "../service-ports.ts"

/** The table, one for each family, that is ours alone: nobody else writes to it, and it goes as a whole. */
export const TABLE = "k3ts-proxy"
/** As `nft` takes it in commands, with the family before the name. */
export const tableOf = (family: Family): string => `${FAMILY_WORD[family]} ${TABLE}`

/** The mark on packets that POSTROUTING has to masquerade. Source: --nftables-masquerade-bit 14. */
export const MASQUERADE_MARK = "0x4000"

export type Protocol = ServicePort["protocol"]
export const PROTOCOLS: readonly Protocol[] = ["tcp", "udp", "sctp"]

/**
 * What packets ask for: an address with a port, or a port of the node. Each has maps of its own, since a node port has
 * no address in its key. Keys and names are those of upstream where upstream has them.
 */
export interface Frontends {
  /** What the key of every map is made of, and the types of its parts. */
  readonly key: string
  readonly type: string
  /** Map: which chain a connection goes to. */
  readonly services: string
  /** Map: which chain spreads over the endpoints of all nodes, and which over those of this node. */
  readonly clusterPolicy: string
  readonly localPolicy: string
  /**
   * Maps, one for each protocol: the address (none for node ports), port and a number give an endpoint. `nft` takes
   * numbers by chance as part of a key only where the map's types are named by example, and an example of a port is of
   * one protocol.
   */
  readonly endpoints: (protocol: Protocol) => string
  readonly endpointKey: (protocol: Protocol) => string
  /** Map: what happens to packets that nobody serves. */
  readonly noEndpoints: string
  /** Chains for traffic from outside, under either externalTrafficPolicy. */
  readonly externalCluster: string
  readonly externalLocal: string
  /** Begins the names of the chains that pick an endpoint by chance. */
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

/** Map: the addresses and ports that only some sources may reach. Sets: all cluster IPs; endpoints that call themselves. */
export const FIREWALL_IPS = "firewall-ips"
export const CLUSTER_IPS = "cluster-ips"
export const HAIRPINS = "hairpin-connections"
/** Chain: refuses, as a verdict of a map cannot do by itself. */
export const REJECT_CHAIN = "reject-chain"
/** Begins the names of the sets that remember which client went to which endpoint. */
export const AFFINITY = "affinity-"

/** Endpoints of this node are numbered from here, beside those of all nodes, which are numbered from 0. */
export const LOCAL_OFFSET = 65_536

/**
 * A name that is told apart at its beginning, as `PREFIX-HASH-name`; shortened to what the kernel takes. Source:
 * hashAndTruncate in pkg/proxy/nftables/proxier.go.
 */
export function hashedName(prefix: string, name: string): string {
  const whole = `${prefix}${createHash("sha256").update(name).digest("hex").slice(0, 8).toUpperCase()}-${name}`
  return whole.length > MAX_NAME ? `${whole.slice(0, MAX_NAME - 3)}...` : whole
}
/** Source: NFT_NAME_MAXLEN in linux/netfilter/nf_tables.h, with room for a prefix. */
const MAX_NAME = 240
