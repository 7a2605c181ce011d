/**
 * Derives the address ranges of the cluster from the flags, and checks them against each other. Sources:
 * validateClusterIPFlags and validatePublicIPServiceClusterIPRangeIPFamilies in
 * cmd/kube-apiserver/app/options/validation.go, setNodeCIDRMaskSizes in cmd/kube-controller-manager/app/core.go,
 * NewCIDRSet in pkg/controller/nodeipam/ipam/cidrset.
 */
import {
  addressAt,
  addressText,
  bitsOf,
  contains,
  familyOf,
  overlaps,
  parseAddress,
  parseNetwork,
  type Family,
  type Network,
} from "../../../pkg/apimachinery/addresses/cidr.ts"
import { UsageError } from "../cli/usage-error.ts"
import type { ServerFlags } from "./server-flags.ts"

/** The address ranges of a cluster. Each list has one item for each family, the primary family first. */
export interface ClusterNetwork {
  /** The ranges of pod addresses. */
  readonly clusterCidrs: readonly string[]
  /** The prefix length of the nodes' parts of each range in `clusterCidrs`. */
  readonly nodeMasks: readonly number[]
  /** The part of each range in `clusterCidrs` that the first node gets. */
  readonly firstNodeRanges: readonly string[]
  /** The ranges of Service addresses; may lack the second family of `clusterCidrs`. */
  readonly serviceCidrs: readonly string[]
  /** The addresses of the cluster's DNS server, each in one of `serviceCidrs`. */
  readonly clusterDns: readonly string[]
}

type Flags = Pick<
  ServerFlags,
  | "cluster-cidr"
  | "service-cidr"
  | "cluster-dns"
  | "node-cidr-mask-size-ipv4"
  | "node-cidr-mask-size-ipv6"
  | "node-ip"
  | "advertise-address"
>

/**
 * The shortest and longest allowed prefix of a range. /64 for IPv6 Services is upstream's limit; the longest prefixes
 * leave 16 addresses.
 */
const PREFIXES: Readonly<Record<"cluster-cidr" | "service-cidr", Readonly<Record<Family, readonly [number, number]>>>> =
  {
    "cluster-cidr": { IPv4: [8, 28], IPv6: [16, 124] },
    "service-cidr": { IPv4: [8, 28], IPv6: [64, 124] },
  }
/** The default prefix lengths of the nodes' ranges. Source: defaultNodeMaskCIDRIPv4 and IPv6. */
const NODE_MASKS: Readonly<Record<Family, number>> = { IPv4: 24, IPv6: 64 }
/**
 * The largest difference between the prefixes of an IPv6 range and of the nodes' parts. Source: clusterSubnetMaxDiff.
 */
const MOST_NODE_BITS = 16

/**
 * Returns the address ranges of the cluster. @throws UsageError when a flag is invalid or flags contradict each other
 */
export function networkOf(flags: Flags): ClusterNetwork {
  const clusterCidrs = pairOf("cluster-cidr", flags["cluster-cidr"])
  const serviceCidrs = pairOf("service-cidr", flags["service-cidr"])
  const families = clusterCidrs.map(familyOf)
  if (familyOf(serviceCidrs[0]!) !== families[0] || serviceCidrs.length > clusterCidrs.length)
    throw new UsageError(
      `--service-cidr ${serviceCidrs.join(",")} and --cluster-cidr ${clusterCidrs.join(",")} must begin with the same ` +
        "family, and Services can have only families that pods have: give both flags ranges of the same families in " +
        "the same order",
    )
  const [services, pods] = [serviceCidrs.map(networkIn), clusterCidrs.map(networkIn)]
  for (const [i, range] of services.entries())
    for (const [k, other] of pods.entries())
      if (overlaps(range, other))
        throw new UsageError(
          `--service-cidr ${serviceCidrs[i]} and --cluster-cidr ${clusterCidrs[k]} overlap: choose ranges apart from ` +
            "each other",
        )
  pairOfAddresses("node-ip", flags["node-ip"], families)
  pairOfAddresses("advertise-address", [flags["advertise-address"] ?? []].flat(), families)
  const nodeMasks = pods.map((range, i) => nodeMaskOf(range, clusterCidrs[i]!, flags))
  refuseStrayMasks(families, flags)
  return {
    clusterCidrs,
    nodeMasks,
    firstNodeRanges: pods.map((range, i) => `${addressText({ ...range, number: range.first })}/${nodeMasks[i]}`),
    serviceCidrs,
    clusterDns: clusterDnsOf(flags["cluster-dns"], services, serviceCidrs),
  }
}

/** Returns whether pods have IPv6 addresses. */
export const hasIPv6 = ({ "cluster-cidr": cidrs }: Pick<Flags, "cluster-cidr">): boolean =>
  cidrs.some((cidr) => familyOf(cidr) === "IPv6")

const networkIn = (cidr: string): Network => parseNetwork(cidr)!

const wrong = (flag: string, value: string, must: string): UsageError =>
  new UsageError(`invalid value ${JSON.stringify(value)} for --${flag}: ${must}`)

function pairOf(flag: "cluster-cidr" | "service-cidr", cidrs: readonly string[]): readonly string[] {
  if (cidrs.length === 0 || cidrs.length > 2 || new Set(cidrs.map(familyOf)).size < cidrs.length)
    throw wrong(flag, cidrs.join(","), "must be one range, or one of IPv4 and one of IPv6")
  for (const cidr of cidrs) {
    const { family, prefix } = networkIn(cidr)
    const [shortest, longest] = PREFIXES[flag][family]
    if (prefix < shortest || prefix > longest)
      throw wrong(flag, cidr, `the prefix of a range of ${family} must be from /${shortest} to /${longest}`)
  }
  return cidrs
}

/**
 * Checks that the first address has the primary family: the Service `kubernetes` has this family, so its endpoints need
 * it.
 */
function pairOfAddresses(flag: string, addresses: readonly string[], families: readonly Family[]): void {
  const given = addresses.map(familyOf)
  if (given.length > 2 || new Set(given).size < given.length)
    throw wrong(flag, addresses.join(","), "must be one address, or one of IPv4 and one of IPv6")
  if (given.length > 0 && given[0] !== families[0])
    throw wrong(
      flag,
      addresses.join(","),
      `must be an address of ${families[0]}, the first family of --cluster-cidr${given.length === 2 ? ", first" : ""}`,
    )
}

function nodeMaskOf({ family, prefix }: Network, cidr: string, flags: Flags): number {
  const flag = family === "IPv4" ? "node-cidr-mask-size-ipv4" : "node-cidr-mask-size-ipv6"
  const mask = flags[flag] ?? Math.max(NODE_MASKS[family], prefix)
  if (mask < prefix || mask > bitsOf(family) - 2)
    throw wrong(flag, String(mask), `must be from ${prefix}, the prefix of --cluster-cidr, to ${bitsOf(family) - 2}`)
  if (family === "IPv6" && mask - prefix > MOST_NODE_BITS)
    throw new UsageError(
      `--cluster-cidr ${cidr} is too large for ranges of /${mask} for each node: choose a prefix of ` +
        `/${mask - MOST_NODE_BITS} or longer, or a --${flag} of ${prefix + MOST_NODE_BITS} or less`,
    )
  return mask
}

function refuseStrayMasks(families: readonly Family[], flags: Flags): void {
  for (const family of ["IPv4", "IPv6"] as const) {
    const flag = family === "IPv4" ? "node-cidr-mask-size-ipv4" : "node-cidr-mask-size-ipv6"
    if (flags[flag] !== undefined && !families.includes(family))
      throw new UsageError(`--${flag} needs an ${family} range in --cluster-cidr: leave it out`)
  }
}

function clusterDnsOf(
  given: readonly string[],
  services: readonly Network[],
  serviceCidrs: readonly string[],
): readonly string[] {
  if (given.length === 0) return services.map((range) => addressAt(range, 10))
  if (given.length > services.length || new Set(given.map(familyOf)).size < given.length)
    throw wrong(
      "cluster-dns",
      given.join(","),
      `must be one address, or one for each range of --service-cidr ${serviceCidrs.join(",")}`,
    )
  for (const address of given) {
    const parsed = parseAddress(address)!
    const range = services.find((network) => contains(network, parsed))
    if (range === undefined || parsed.number - range.first < 2n)
      throw wrong(
        "cluster-dns",
        address,
        `must be an address of --service-cidr ${serviceCidrs.join(",")}, but not one of its first two`,
      )
  }
  return given
}
