import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { OwnPort } from "../../../pkg/component/own-ports.ts"
import { ADDRESS_TYPE, FAMILY_WORD } from "../../../pkg/netfilter/nft.ts"
import {
  ADDRESSES,
  CLUSTER_IPS,
  FIREWALL_IPS,
  HAIRPINS,
  MASQUERADE_MARK,
  NODE_PORTS,
  PROTOCOLS,
  REJECT_CHAIN,
  type Frontends,
  type Protocol,
} from "./names.ts"

export interface SkeletonConfig {
  readonly family: Family
  /**
   * The range of the cluster's pod addresses in the family. Traffic to a Service from other addresses is masqueraded.
   */
  readonly clusterCidr: string
  /** The ranges of Services' cluster IPs in the family. */
  readonly serviceCidrs: readonly string[]
  /** The ranges of this node's addresses in the family at which node ports are served; none for all addresses. */
  readonly nodePortCidrs: readonly string[]
  /** See `KubeProxyConfig`, in the family. */
  readonly ownAddresses: readonly string[]
  readonly ownPorts: readonly OwnPort[]
}

/** The part of the table that does not depend on Services. */
export interface Skeleton {
  /** The hooks of chains that the kernel calls, by name of the chain. */
  readonly hooks: ReadonlyMap<string, string>
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** The declarations of sets and maps, by name. */
  readonly sets: ReadonlyMap<string, string>
  readonly maps: ReadonlyMap<string, string>
}

/**
 * The kernel calls chains of type nat only for the first packet of a connection, and those of type filter for every
 * packet, which costs part of the throughput between nodes. So what upstream asks of new connections in chains of type
 * filter is asked in those of type nat, before and after the endpoint is chosen.
 * Priorities as numbers, since `nft` does not have names for them in every hook: dstnat is -100, srcnat 100. The chains
 * of `own` come before those of all programs that redirect packets, such as the CNI plugin for host ports.
 */
const HOOKS = new Map([
  ["own-prerouting", "type nat hook prerouting priority -101"],
  ["own-output", "type nat hook output priority -101"],
  ["nat-prerouting", "type nat hook prerouting priority -100"],
  ["nat-output", "type nat hook output priority -100"],
  ["nat-postrouting", "type nat hook postrouting priority 100"],
])

const MARK = `meta mark set meta mark or ${MASQUERADE_MARK}`

/**
 * Returns hooks, priorities, chains and maps in the order of upstream's nftables mode; the maps of endpoints and
 * policies are our own, in place of chains for each Service. Node ports can also be reached on loopback, as in the
 * iptables mode, except on ::1, since the kernel drops packets that return to it from elsewhere. Source: setupNFTables
 * in pkg/proxy/nftables/proxier.go and the README beside it.
 */
export function skeletonOf(config: SkeletonConfig): Skeleton {
  const { family, clusterCidr, serviceCidrs, nodePortCidrs } = config
  const [ip, type] = [FAMILY_WORD[family], ADDRESS_TYPE[family]]
  const addresses = ADDRESSES[family]
  const verdicts = (of: Frontends) => `type ${of.type} : verdict`
  const endpoints = ({ endpointKey }: Frontends, protocol: Protocol) =>
    `typeof ${endpointKey(protocol)} . numgen random mod 2 : ${ip} daddr . ${protocol} dport`
  const frontends = [addresses, NODE_PORTS]
  const atNodePorts = nodePortCidrs.length === 0 ? "" : `${ip} daddr { ${nodePortCidrs.join(", ")} } `
  // A packet that gets an endpoint does not come to the last three.
  const toServices = [
    "firewall-check",
    "services",
    "service-endpoints-check",
    "nodeport-endpoints-check",
    "cluster-ips-check",
  ].map((chain) => `jump ${chain}`)
  return {
    hooks: HOOKS,
    sets: new Map([
      [CLUSTER_IPS, `type ${type}`],
      [HAIRPINS, `type ${type} . ${type} . inet_proto . inet_service`],
    ]),
    maps: new Map([
      ...frontends.flatMap((of): [string, string][] => [
        [of.services, verdicts(of)],
        [of.clusterPolicy, verdicts(of)],
        [of.localPolicy, verdicts(of)],
        [of.noEndpoints, verdicts(of)],
        ...PROTOCOLS.map((protocol): [string, string] => [of.endpoints(protocol), endpoints(of, protocol)]),
      ]),
      [FIREWALL_IPS, verdicts(addresses)],
    ]),
    chains: new Map<string, readonly string[]>([
      // A packet that gets its destination there does not come to the chains of the same hook that follow.
      ["own-prerouting", ["jump loopback-check", "jump own-listeners"]],
      ["own-output", ["jump own-listeners"]],
      ["own-listeners", toOwnListeners(config)],
      ["nat-prerouting", ["jump loopback-check", ...toServices]],
      ["nat-output", toServices],
      ["nat-postrouting", ["jump masquerading"]],

      ["firewall-check", [`${addresses.key} vmap @${FIREWALL_IPS}`]],
      ["service-endpoints-check", [`${addresses.key} vmap @${addresses.noEndpoints}`]],
      [
        "nodeport-endpoints-check",
        [`${atNodePorts}fib daddr type local ${NODE_PORTS.key} vmap @${NODE_PORTS.noEndpoints}`],
      ],
      // Differs from upstream, which sends ICMP for all protocols: a client on this node gets the ICMP message while it
      // is still sending, does not notice it, and is refused only a second later.
      [REJECT_CHAIN, ["meta l4proto tcp reject with tcp reset", "reject"]],
      // Packets that still have a cluster IP as destination are for a port that the Service does not have. An address
      // without a Service may get one in a moment, and the client tries again. Addresses of the machine itself, such as
      // that of the DNS server, are left alone.
      [
        "cluster-ips-check",
        [
          `${ip} daddr @${CLUSTER_IPS} fib daddr type != local goto ${REJECT_CHAIN}`,
          ...(serviceCidrs.length > 0
            ? [`${ip} daddr { ${serviceCidrs.join(", ")} } fib daddr type != local drop`]
            : []),
        ],
      ],
      // Node ports can be reached on loopback, which needs route_localnet; this rule keeps other hosts from using that.
      // For ::1 the kernel itself drops such packets.
      ["loopback-check", family === "IPv6" ? [] : ["ip daddr 127.0.0.0/8 ip saddr != 127.0.0.0/8 drop"]],

      [
        "services",
        [
          `${ip} daddr @${CLUSTER_IPS} ${ip} saddr != ${clusterCidr} ${MARK}`,
          `${addresses.key} vmap @${addresses.services}`,
          `${family === "IPv6" ? "ip6 daddr != ::1 " : ""}${atNodePorts}fib daddr type local ${NODE_PORTS.key} ` +
            `vmap @${NODE_PORTS.services}`,
        ],
      ],
      ...frontends.flatMap((of): [string, readonly string[]][] => [
        [of.externalCluster, [MARK, `${of.key} vmap @${of.clusterPolicy}`]],
        // Connections from pods and from the node itself may go to endpoints of any node; all others stay on this node
        // and keep their source.
        [
          of.externalLocal,
          [
            `${ip} saddr ${clusterCidr} ${of.key} vmap @${of.clusterPolicy}`,
            `fib saddr type local ${MARK}`,
            `fib saddr type local ${of.key} vmap @${of.clusterPolicy}`,
            `${of.key} vmap @${of.localPolicy}`,
          ],
        ],
      ]),
      [
        "masquerading",
        [
          `meta mark and ${MASQUERADE_MARK} != 0 meta mark set meta mark xor ${MASQUERADE_MARK} masquerade fully-random`,
          // A pod that reaches itself through the Service: without masquerading the response would not be translated
          // back.
          `ct status dnat ${ip} saddr . ${ip} daddr . meta l4proto . th dport @${HAIRPINS} masquerade fully-random`,
        ],
      ],
    ]),
  }
}

/**
 * Returns the rules by which packets to listeners of this program keep their destination: a packet that is redirected
 * to where it goes already is redirected by nobody else.
 */
function toOwnListeners({ family, ownAddresses, ownPorts }: SkeletonConfig): readonly string[] {
  const ip = FAMILY_WORD[family]
  const stay = `dnat to ${ip} daddr`
  const ports = ownPorts.map(({ port, protocol }) => `${protocol.toLowerCase()} . ${port}`)
  return [
    ...(ownAddresses.length === 0 ? [] : [`${ip} daddr { ${ownAddresses.join(", ")} } ${stay}`]),
    ...(ports.length === 0 ? [] : [`fib daddr type local meta l4proto . th dport { ${ports.join(", ")} } ${stay}`]),
  ]
}
