/**
 * The rules that hold pods to their own addresses, as a table of nftables. A packet of a pod is judged where it enters
 * the bridge, before the bridge learns from it: its hardware address and its address must be the pod's, in ARP and in
 * neighbour discovery too. So no pod can answer for another, and the addresses by which NetworkPolicies judge are true.
 * The cost is a few look-ups a packet, however many pods there are.
 */
import { familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { addressBytes, hardwareBytes } from "../../../../pkg/netlink/links.ts"
import { FAMILY_BRIDGE, interfaceKey, type SetElement } from "../../../../pkg/netlink/set-elements.ts"

export const TABLE = "k3ts-sources"
export const SOURCES = { family: FAMILY_BRIDGE, name: TABLE }

/** A pod's port of the bridge, and what may come in by it. */
export interface PodSource {
  readonly port: string
  readonly mac: string
  readonly addresses: readonly string[]
}

/** Before all other rules of bridges: priority -300 is the first that has a name (`dstnat`). */
const PRIORITY = -350

/**
 * What the kernel uses before it has an address (`::`): whether another has it, and which groups of multicast it hears.
 */
const NAMELESS = "nd-neighbor-solicit, mld-listener-report, mld-listener-done, mld2-listener-report"

/** Returns the input of `nft -f` that makes the table anew, with these pods, in one transaction. */
export function sourceTable(pods: readonly PodSource[]): string {
  const table = `bridge ${TABLE}`
  const rules = (chain: string, ...texts: readonly string[]) =>
    texts.map((rule) => `add rule ${table} ${chain} ${rule}`)
  const lines = [
    `add table ${table}`,
    `delete table ${table}`,
    `add table ${table}`,
    `add set ${table} ports { type ifname ; }`,
    `add set ${table} ipv4 { type ifname . ether_addr . ipv4_addr ; }`,
    `add set ${table} ipv6 { type ifname . ether_addr . ipv6_addr ; }`,
    // The same as ipv6, for addresses inside of a message.
    `add set ${table} neighbors { typeof iifname . ether saddr . @th,64,128 ; }`,
    `add chain ${table} pod`,
    `add chain ${table} pod-ipv6`,
    `add chain ${table} prerouting { type filter hook prerouting priority ${PRIORITY} ; policy accept ; }`,
    // Nearly all packets need no more than the first look-up.
    ...rules("prerouting", "iifname . ether saddr . ip saddr @ipv4 accept", "iifname @ports goto pod"),
    ...rules(
      "pod",
      "iifname . ether saddr . arp saddr ip @ipv4 iifname . arp saddr ether . arp saddr ip @ipv4 accept",
      "ether type ip6 goto pod-ipv6",
      "counter drop",
    ),
    ...rules(
      "pod-ipv6",
      // A pod is no router.
      "icmpv6 type { nd-router-advert, nd-redirect } counter drop",
      "icmpv6 type nd-neighbor-advert iifname . ether saddr . @th,64,128 != @neighbors counter drop",
      "iifname . ether saddr . ip6 saddr @ipv6 accept",
      `ip6 saddr :: icmpv6 type { ${NAMELESS} } ether saddr != 00:00:00:00:00:00 accept`,
      "counter drop",
    ),
    ...pods.flatMap(elementTexts).map((element) => `add element ${table} ${element}`),
  ]
  return lines.map((line) => `${line}\n`).join("")
}

function elementTexts({ port, mac, addresses }: PodSource): readonly string[] {
  const key = (address: string) => `"${port}" . ${mac} . ${address}`
  return [
    `ports { "${port}" }`,
    ...withLinkLocal(addresses, mac).flatMap((address) =>
      familyOf(address) === "IPv4"
        ? [`ipv4 { ${key(address)} }`]
        : [`ipv6 { ${key(address)} }`, `neighbors { ${key(`0x${addressBytes(address).toString("hex")}`)} }`],
    ),
  ]
}

/** Returns the same elements as messages to the kernel have them. */
export function elementsOf({ port, mac, addresses }: PodSource): readonly SetElement[] {
  const [device, hardware] = [interfaceKey(port), hardwareBytes(mac)]
  return [
    { set: "ports", key: [device] },
    ...withLinkLocal(addresses, mac).flatMap((address) => {
      const key = [device, hardware, addressBytes(address)]
      return (familyOf(address) === "IPv4" ? ["ipv4"] : ["ipv6", "neighbors"]).map((set) => ({ set, key }))
    }),
  ]
}

/** Adds the link-local address that the kernel gives an interface with IPv6. Source: RFC 4291, appendix A. */
function withLinkLocal(addresses: readonly string[], mac: string): readonly string[] {
  if (!addresses.some((address) => familyOf(address) === "IPv6")) return addresses
  const [a = 0, ...rest] = hardwareBytes(mac)
  const bytes = Buffer.from([a ^ 0x02, ...rest.slice(0, 2), 0xff, 0xfe, ...rest.slice(2)])
  return [...addresses, `fe80::${bytes.toString("hex").replace(/.{4}(?=.)/g, "$&:")}`]
}
