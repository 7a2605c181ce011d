import { type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Direction } from "./policy-rules.ts"
import { FAMILY_WORD } from "../../pkg/netfilter/nft.ts"

export const TABLE = "k3ts-network-policy"
export const DIRECTIONS: readonly Direction[] = ["ingress", "egress"]

/** Where pods are: on this node, or on others. */
export type Place = "here" | "elsewhere"
export const PLACES: readonly Place[] = ["here", "elsewhere"]

/** Returns the name of the map of the pods that are isolated in a direction. */
export const isolated = (direction: Direction, family: Family, place: Place): string =>
  `${direction}-${FAMILY_WORD[family]}${place === "here" ? "" : "-elsewhere"}`
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

/** The chain of rules about link-local addresses, which is in every table. */
export const LINK_LOCAL = "link-local"

/**
 * Pods have link-local addresses that no policy knows, by which they could reach each other and the node past every
 * policy. A router advertisement from a pod would give others more such addresses.
 */
export const NO_LINK_LOCAL: readonly string[] = [
  "icmpv6 type nd-router-advert drop",
  "ip6 saddr fe80::/10 drop",
  "ip6 daddr { fe80::/10, ff00::/8 } drop",
]

/** Packets that no policy concerns: ICMP errors such as "fragmentation needed", and neighbour discovery of IPv6. */
const EXEMPT: readonly string[] = [
  "ct state related meta l4proto { icmp, ipv6-icmp } accept",
  "meta nfproto ipv6 icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept",
]

/**
 * Returns the chains by which packets reach the chains of policies, as far as pods are isolated in a direction. A
 * packet that one base chain accepts goes on to the next: egress is checked first, then ingress, then chains of other
 * programs. Packets that the node itself sends do not pass these chains (they use the output hook), and packets that it
 * receives are checked by the egress rules of the pod that opened the connection. So probes and other traffic of the
 * node to its pods are allowed. IPv4 and IPv6 packets on a bridge pass the forward hook if
 * net.bridge.bridge-nf-call-iptables is on.
 *
 * The node of a pod checks all its packets. For pods of other nodes a connection is checked when it begins, and all the
 * time where this node translates its addresses, since then only this node knows who speaks to whom.
 *
 * Nearly all packets belong to established connections, so these pass as few rules as possible: each chain and each
 * rule costs part of the throughput between nodes.
 */
export function baseChains(
  families: readonly Family[],
  bridge: string,
  isNeeded: (direction: Direction, place: Place) => boolean,
): readonly BaseChain[] {
  const onBridge = `iifname "${bridge}"`
  const linkLocal = `meta nfproto ipv6 ${onBridge} jump ${LINK_LOCAL}`
  /** Returns a rule for each family that sends packets of isolated pods to the chain of their policies. */
  const judge = (direction: Direction, place: Place, match: string, address: (ip: "ip" | "ip6") => string) =>
    isNeeded(direction, place)
      ? families.map((family) => `${match}${address(FAMILY_WORD[family])} vmap @${isolated(direction, family, place)}`)
      : []
  const of = (
    direction: Direction,
    also: { readonly first: readonly string[]; readonly unusual: readonly string[] },
  ) => {
    const [tuple, end] = direction === "egress" ? ["original", "saddr"] : ["reply", "daddr"]
    const pod = (ip: string) => `ct ${tuple} ${ip} saddr`
    const unusual = [
      ...EXEMPT,
      ...also.first,
      ...also.unusual,
      // The connection tracker does not know such a packet: its own address identifies the pod, and it matches no rule
      // with peers or ports.
      ...judge(direction, "here", "ct state invalid,untracked ", (ip) => `${ip} ${end}`),
      ...judge(direction, "elsewhere", "", pod),
    ]
    const rules = [
      `ct state new,related,invalid,untracked jump ${direction}-unusual`,
      ...also.first,
      ...judge(direction, "elsewhere", "ct status snat,dnat ", pod),
      ...judge(direction, "here", "", pod),
    ]
    return { unusual: { name: `${direction}-unusual`, rules: unusual }, rules }
  }
  const chains: BaseChain[] = []
  const isAnyNeeded = (direction: Direction) => PLACES.some((place) => isNeeded(direction, place))
  if (isAnyNeeded("egress")) {
    const { unusual, rules } = of("egress", { first: [linkLocal], unusual: [] })
    chains.push(unusual)
    for (const hook of ["forward", "input"])
      chains.push({ name: `egress-${hook}`, hook: `type filter hook ${hook} priority -11`, rules })
  }
  if (isAnyNeeded("ingress")) {
    const { unusual, rules } = of("ingress", {
      first: isAnyNeeded("egress") ? [] : [linkLocal],
      // An isolated pod of this bridge would get such packets too, whose destination does not identify it. They are
      // never part of an established connection, since nobody answers with such an address.
      unusual: [`${onBridge} oifname "${bridge}" fib daddr type { broadcast, multicast } drop`],
    })
    chains.push(unusual, { name: "ingress-forward", hook: "type filter hook forward priority -10", rules })
  }
  return chains
}
