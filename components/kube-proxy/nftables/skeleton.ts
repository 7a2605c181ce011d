import type { Family } from "../../../pkg/apimachinery/cidr.ts"
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
  /** Pod addresses of the whole cluster, of the family: what comes from elsewhere to a Service is masqueraded. */
  readonly clusterCidr: string
  /** Where the addresses of Services come from, of the family. */
  readonly serviceCidrs: readonly string[]
}

/** What is in the table whatever Services there are. */
export interface Skeleton {
  /** By name, the hook of chains that the kernel enters by itself. */
  readonly hooks: ReadonlyMap<string, string>
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** By name, what `nft` is told of sets and maps. */
  readonly sets: ReadonlyMap<string, string>
  readonly maps: ReadonlyMap<string, string>
}

/** Priorities by number, since `nft` has no name for them in every hook: dstnat is -100, srcnat 100, filter 0. */
const HOOKS = new Map([
  ["filter-prerouting-pre-dnat", "type filter hook prerouting priority -110"],
  ["filter-output-pre-dnat", "type filter hook output priority -110"],
  ["filter-input", "type filter hook input priority 0"],
  ["filter-forward", "type filter hook forward priority 0"],
  ["filter-output", "type filter hook output priority 0"],
  ["nat-prerouting", "type nat hook prerouting priority -100"],
  ["nat-output", "type nat hook output priority -100"],
  ["nat-postrouting", "type nat hook postrouting priority 100"],
])

const MARK = `meta mark set meta mark or ${MASQUERADE_MARK}`

/**
 * Hooks, priorities, chains and maps as upstream's nftables mode has them, and in their order; different are the maps
 * of endpoints and policies, in place of chains for each Service. Node ports answer on loopback, too, as in the
 * iptables mode, but not on ::1, because the kernel drops what comes back from elsewhere for it. Source: setupNFTables
 * in pkg/proxy/nftables/proxier.go and the README beside it.
 */
export function skeletonOf({ family, clusterCidr, serviceCidrs }: SkeletonConfig): Skeleton {
  const [ip, type] = [FAMILY_WORD[family], ADDRESS_TYPE[family]]
  const addresses = ADDRESSES[family]
  const verdicts = (of: Frontends) => `type ${of.type} : verdict`
  const endpoints = ({ endpointKey }: Frontends, protocol: Protocol) =>
    `typeof ${endpointKey(protocol)} . numgen random mod 2 : ${ip} daddr . ${protocol} dport`
  const frontends = [addresses, NODE_PORTS]
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
      ["filter-prerouting-pre-dnat", ["ct state new jump firewall-check"]],
      ["filter-output-pre-dnat", ["ct state new jump firewall-check"]],
      [
        "filter-input",
        [
          "ct state new jump nodeport-endpoints-check",
          "ct state new jump service-endpoints-check",
          "jump loopback-check",
        ],
      ],
      ["filter-forward", ["ct state new jump service-endpoints-check", "ct state new jump cluster-ips-check"]],
      [
        "filter-output",
        ["ct state new jump service-endpoints-check", "ct state new jump cluster-ips-check", "jump loopback-check"],
      ],
      ["nat-prerouting", ["jump services"]],
      ["nat-output", ["jump services"]],
      ["nat-postrouting", ["jump masquerading"]],

      ["firewall-check", [`${addresses.key} vmap @${FIREWALL_IPS}`]],
      ["service-endpoints-check", [`${addresses.key} vmap @${addresses.noEndpoints}`]],
      ["nodeport-endpoints-check", [`${NODE_PORTS.key} vmap @${NODE_PORTS.noEndpoints}`]],
      // Differs from upstream, which sends ICMP to all: a client on this node gets that while it still sends, does not
      // see it, and is refused a second later only.
      [REJECT_CHAIN, ["meta l4proto tcp reject with tcp reset", "reject"]],
      // What still goes to a cluster IP asks for a port that it does not have; an address that no Service has may get
      // one in an instant, and who asks tries again. The machine's own addresses, such as the DNS's, are no strays.
      [
        "cluster-ips-check",
        [
          `${ip} daddr @${CLUSTER_IPS} fib daddr type != local goto ${REJECT_CHAIN}`,
          ...(serviceCidrs.length > 0
            ? [`${ip} daddr { ${serviceCidrs.join(", ")} } fib daddr type != local drop`]
            : []),
        ],
      ],
      // Node ports are reached on loopback, for which route_localnet is set; this keeps others from using that. The
      // kernel itself drops what comes for ::1 from elsewhere.
      [
        "loopback-check",
        family === "IPv6"
          ? []
          : [
              "ip daddr 127.0.0.0/8 ip saddr != 127.0.0.0/8 ct state != { established, related } " +
                "ct status & dnat == 0 drop",
            ],
      ],

      [
        "services",
        [
          `${ip} daddr @${CLUSTER_IPS} ${ip} saddr != ${clusterCidr} ${MARK}`,
          `${addresses.key} vmap @${addresses.services}`,
          `${family === "IPv6" ? "ip6 daddr != ::1 " : ""}fib daddr type local ${NODE_PORTS.key} vmap @${NODE_PORTS.services}`,
        ],
      ],
      ...frontends.flatMap((of): [string, readonly string[]][] => [
        [of.externalCluster, [MARK, `${of.key} vmap @${of.clusterPolicy}`]],
        // What comes from a pod or from the node itself may go to any node; all else stays here with its source.
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
          // A pod that reaches itself through the Service: its answer would not find back.
          `ct status dnat ${ip} saddr . ${ip} daddr . meta l4proto . th dport @${HAIRPINS} masquerade fully-random`,
        ],
      ],
    ]),
  }
}
