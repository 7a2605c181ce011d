import { bitsOf, familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"

/** Source: linux net/bridge/br_private.h BR_PORT_BITS; number 0 is no port. */
const BRIDGE_PORTS = 1023
/** By family, the addresses of a range that no pod gets: the network's, the gateway's and that of broadcasts. */
const NOT_FOR_PODS = { IPv4: 3, IPv6: 2 } as const

/**
 * Returns why a node cannot run as many pods as it takes, beside those on the host's network; undefined when it can.
 * `ranges` are the node's, one of each family.
 */
export function podLimitProblem(maxPods: number, ranges: readonly string[]): string | undefined {
  for (const range of ranges) {
    const family = familyOf(range)
    const count = 2 ** (bitsOf(family) - Number(range.split("/")[1])) - NOT_FOR_PODS[family]
    if (maxPods > Math.min(count, BRIDGE_PORTS))
      return count < BRIDGE_PORTS
        ? `the range ${range} has ${count} addresses for pods; give --kubelet-arg max-pods=${count}, or a new cluster ` +
            `larger ranges by --node-cidr-mask-size-${family.toLowerCase()}`
        : `a bridge has ${BRIDGE_PORTS} ports; give --kubelet-arg max-pods=${BRIDGE_PORTS}`
  }
  return undefined
}
