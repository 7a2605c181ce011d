import { familyOf, type Family } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { TestClusterError } from "../caller.ts"
import type { ClusterSnapshot } from "../snapshot.ts"

/** The same domain as in `k3ts server`. */
export const CLUSTER_DOMAIN = "cluster.local"

/** The address ranges of a test cluster. Each list has one item for each family, the primary family first. */
export interface ClusterAddresses {
  /** The ranges of pod addresses. */
  readonly clusterCidrs: readonly string[]
  /** The prefix lengths of the nodes' parts of `clusterCidrs`. */
  readonly nodeMasks: readonly number[]
  readonly serviceCidrs: readonly string[]
  readonly clusterDns: readonly string[]
  /** The address of the API server. */
  readonly advertiseAddress: string
  /** Returns the address of the `index`th of several servers. */
  serverIp(index: number): string
  /** Returns the addresses of the `index`th node. */
  nodeIps(index: number): readonly string[]
  /**
   * Returns the pod ranges of the `index`th node, which it has until the node IPAM controller assigns others, or for
   * good when that controller does not run.
   */
  firstPodCidrs(index: number): readonly string[]
}

/** The number of node ranges used in the IPv4 cluster range /16; clusters with more nodes get a larger range. */
const RANGES = 250

interface OfFamily {
  clusterCidr(nodes: number): string
  readonly nodeMask: number
  /** The default of `k3ts server`; for IPv6 the range that its documentation suggests. */
  readonly serviceCidr: string
  readonly clusterDns: string
  readonly advertiseAddress: string
  serverIp(index: number): string
  nodeIp(index: number): string
  firstPodCidr(index: number): string
}

const ADDRESSES: Readonly<Record<Family, OfFamily>> = {
  IPv4: {
    clusterCidr: (nodes) => (nodes <= RANGES ? "10.42.0.0/16" : "10.128.0.0/9"),
    nodeMask: 24,
    serviceCidr: "10.43.0.0/16",
    clusterDns: "10.43.0.10",
    advertiseAddress: "127.0.0.1",
    serverIp: (index) => `172.30.0.${index + 2}`,
    nodeIp: (index) => `192.168.${Math.floor(index / 250)}.${(index % 250) + 2}`,
    firstPodCidr: (index) => `10.${128 + (index >> 8)}.${index & 255}.0/24`,
  },
  IPv6: {
    clusterCidr: () => "fd42::/48",
    nodeMask: 64,
    serviceCidr: "fd43::/112",
    clusterDns: "fd43::a",
    advertiseAddress: "::1",
    serverIp: (index) => `fd30::${index + 2}`,
    nodeIp: (index) => `fd00::${(index + 2).toString(16)}`,
    firstPodCidr: (index) => `fd44:0:0:${index.toString(16)}::/64`,
  },
}

/**
 * Returns the address ranges of a cluster with this many nodes. @throws TestClusterError unless `families` is IPv4,
 * IPv6 or both, each once
 */
export function clusterAddresses(families: readonly Family[] = ["IPv4"], nodes: number): ClusterAddresses {
  const known = families.filter((family) => Object.hasOwn(ADDRESSES, family))
  if (families.length === 0 || new Set(known).size !== families.length)
    throw new TestClusterError(
      `Cannot start a cluster with ipFamilies: ${JSON.stringify(families)}: expected "IPv4", "IPv6" or both, the ` +
        "primary family first",
    )
  const each = <T>(of: (family: OfFamily) => T): readonly T[] => families.map((family) => of(ADDRESSES[family]))
  return {
    clusterCidrs: each(({ clusterCidr }) => clusterCidr(nodes)),
    nodeMasks: each(({ nodeMask }) => nodeMask),
    serviceCidrs: each(({ serviceCidr }) => serviceCidr),
    clusterDns: each(({ clusterDns }) => clusterDns),
    advertiseAddress: ADDRESSES[families[0]!].advertiseAddress,
    serverIp: (index) => ADDRESSES[families[0]!].serverIp(index),
    nodeIps: (index) => each(({ nodeIp }) => nodeIp(index)),
    firstPodCidrs: (index) => each(({ firstPodCidr }) => firstPodCidr(index)),
  }
}

/** Returns the address ranges of a cluster that begins with a snapshot: its Services and nodes keep their addresses. */
export function addressesWith(
  snapshot: Pick<ClusterSnapshot, "nodes" | "serviceCidrs"> | undefined,
  families: readonly Family[] | undefined,
  nodes: number,
): ClusterAddresses {
  const serviceCidrs = snapshot?.serviceCidrs ?? []
  const addresses = clusterAddresses(
    families ?? (serviceCidrs.length === 0 ? undefined : serviceCidrs.map(familyOf)),
    nodes,
  )
  if (snapshot === undefined) return addresses
  return {
    ...addresses,
    serviceCidrs: serviceCidrs.length === 0 ? addresses.serviceCidrs : serviceCidrs,
    nodeIps(index) {
      const ips = snapshot.nodes[index]?.ips ?? []
      return ips.length === 0 ? addresses.nodeIps(index) : ips
    },
  }
}
