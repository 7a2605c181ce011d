import { type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Direction } from "./policy-rules.ts"
import { FAMILY_WORD } from "../../pkg/netfilter/nft.ts"

export const TABLE = "k3ts-network-policy"
export const DIRECTIONS: readonly Direction[] = ["ingress", "egress"]

/** Returns the name of the map of the pods that are isolated in a direction. */
export const isolated = (direction: Direction, family: Family): string => `${direction}-${FAMILY_WORD[family]}`
/**
 * Returns the name of the set of isolated pods' addresses, each as a pair with itself: a pod's connections to itself.
 */
export const selves = (family: Family): string => `selves-${FAMILY_WORD[family]}`

/** Returns the rule that allows isolated pods to reach themselves. */
export const toItself = (family: Family): string =>
  `ct original ${FAMILY_WORD[family]} saddr . ct reply ${FAMILY_WORD[family]} saddr @${selves(family)} accept`

export interface BaseChain {
  readonly name: string
  readonly rules: readonly string[]
  /** The kernel's hook of the chain; a chain without one is jumped to. */
  readonly hook?: string
}

/**
 * Returns the chains by which packets reach the chains of policies. A packet that one base chain accepts goes on to the
 * next: egress is checked first, then ingress, then chains of other programs. Packets that the node itself sends do not
 * pass these chains (they use the output hook), and packets that it receives are checked by the egress rules of the pod
 * that opened the connection. So probes and other traffic of the node to its pods are allowed.
 * IPv4 and IPv6 packets on a bridge pass the forward hook if net.bridge.bridge-nf-call-iptables is on.
 *
 * Every packet of a pod passes these rules, twice where it goes to another node. So a rule begins with the test that is
 * cheap and ends it for most packets.
 */
export function baseChains(families: readonly Family[], bridge: string): readonly BaseChain[] {
  const onBridge = `iifname "${bridge}"`
  const each = (rule: (family: Family, ip: "ip" | "ip6") => string) =>
    families.map((family) => rule(family, FAMILY_WORD[family]))
  return [
    {
      name: "exempt",
      rules: [
        // ICMP errors of an existing connection, such as "fragmentation needed".
        "ct state related meta l4proto { icmp, ipv6-icmp } accept",
        // Neighbour discovery of IPv6.
        "meta nfproto ipv6 icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept",
      ],
    },
    { name: "link-local", rules: NO_LINK_LOCAL.map((match) => `${match} drop`) },
    {
      name: "from-pod",
      rules: [
        `meta nfproto ipv6 ${onBridge} jump link-local`,
        // The connection tracker does not know such a packet: its own address identifies the pod, and it matches no
        // rule with peers or ports.
        ...each((family, ip) => `ct state invalid,untracked ${ip} saddr vmap @${isolated("egress", family)}`),
        ...each((family, ip) => `ct original ${ip} saddr vmap @${isolated("egress", family)}`),
      ],
    },
    { name: "egress-forward", hook: "type filter hook forward priority -11", rules: ["jump exempt", "goto from-pod"] },
    { name: "egress-input", hook: "type filter hook input priority -11", rules: ["jump exempt", "goto from-pod"] },
    {
      name: "ingress-forward",
      hook: "type filter hook forward priority -10",
      rules: [
        "jump exempt",
        // An isolated pod of this bridge would get such packets too, whose destination does not identify it.
        `${onBridge} oifname "${bridge}" fib daddr type { broadcast, multicast } drop`,
        ...each((family, ip) => `ct state invalid,untracked ${ip} daddr vmap @${isolated("ingress", family)}`),
        ...each((family, ip) => `ct reply ${ip} saddr vmap @${isolated("ingress", family)}`),
      ],
    },
  ]
}

/**
 * Pods have link-local addresses that no policy knows, by which they could reach each other and the node past every
 * policy. A router advertisement from a pod would give others more such addresses.
 */
const NO_LINK_LOCAL = ["icmpv6 type nd-router-advert", "ip6 saddr fe80::/10", "ip6 daddr { fe80::/10, ff00::/8 }"]
