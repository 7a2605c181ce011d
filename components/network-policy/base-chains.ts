import { type Family } from "../../pkg/apimachinery/cidr.ts"
import type { Direction } from "./policy-rules.ts"
import { FAMILY_WORD } from "../../pkg/netfilter/nft.ts"

export const TABLE = "k3ts-network-policy"
export const DIRECTIONS: readonly Direction[] = ["ingress", "egress"]

/** The map of the pods that are isolated in a direction. */
export const isolated = (direction: Direction, family: Family): string => `${direction}-${FAMILY_WORD[family]}`
/** The set of isolated pods' addresses, each twice: a pod's connections to itself. */
export const selves = (family: Family): string => `selves-${FAMILY_WORD[family]}`

export interface BaseChain {
  readonly name: string
  readonly rules: readonly string[]
  /** Where the kernel calls it; one without is jumped to. */
  readonly hook?: string
}

/**
 * How packets come to the chains of policies. A packet that one base chain accepts goes on to the next: egress is
 * judged first, then ingress, then whatever others have written. What the node itself sends never comes here (it goes
 * by the output hook), and what it gets is judged by the egress of the pod that began the connection: so probes and
 * other traffic of the node to its pods are let through.
 *
 * A bridge hands its IPv4 and IPv6 packets to the forward hook where net.bridge.bridge-nf-call-iptables is on.
 */
export function baseChains(families: readonly Family[], bridge: string): readonly BaseChain[] {
  const onBridge = `iifname "${bridge}"`
  const each = (rule: (family: Family, ip: "ip" | "ip6") => string) =>
    families.map((family) => rule(family, FAMILY_WORD[family]))
  return [
    {
      name: "exempt",
      rules: [
        // Errors that belong to a connection: "fragmentation needed" for one.
        "meta l4proto { icmp, ipv6-icmp } ct state related accept",
        // How neighbours on a link find each other.
        "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept",
        ...each((family, ip) => `ct original ${ip} saddr . ct reply ${ip} saddr @${selves(family)} accept`),
      ],
    },
    {
      name: "from-pod",
      rules: [
        ...NO_LINK_LOCAL.map((match) => `${onBridge} ${match} drop`),
        // The connection tracker has nothing to say of such a packet: its own address tells the pod, and no rule of a
        // policy that names peers or ports matches it.
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
        // A pod that is isolated would hear it too, and its address is not in the packet.
        `${onBridge} fib daddr type { broadcast, multicast } drop`,
        ...each((family, ip) => `ct state invalid,untracked ${ip} daddr vmap @${isolated("ingress", family)}`),
        ...each((family, ip) => `ct reply ${ip} saddr vmap @${isolated("ingress", family)}`),
      ],
    },
  ]
}

/**
 * Pods have addresses on the link that nobody gave them and no policy knows: by these they would reach each other, and
 * the node, past every policy. A router's advertisement by a pod would give others more of the kind.
 */
const NO_LINK_LOCAL = ["icmpv6 type nd-router-advert", "ip6 saddr fe80::/10", "ip6 daddr { fe80::/10, ff00::/8 }"]
