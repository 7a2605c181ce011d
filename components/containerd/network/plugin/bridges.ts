import { writeFileSync } from "node:fs"
import { addressAt, type Network } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { findInterface } from "../../../../pkg/netlink/find-link.ts"
import { createBridge, keepAddress, setUp, type Link } from "../../../../pkg/netlink/links.ts"
import { KernelError, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { ALIAS } from "../bridge.ts"
import type { NetworkConfig } from "./network-config.ts"
import { macOf } from "./pod-names.ts"

/** Source: asm-generic/errno-base.h. */
const EEXIST = 17

/** Returns the bridge's address in a range, which pods use as their gateway. */
export const gatewayOf = (range: Network): string => addressAt(range, 1)

/**
 * Returns the bridge of a network, up and with its addresses: each that it lacks is given to it, as after somebody has
 * deleted the bridge, set it down or taken an address away. `host` is a socket of NETLINK_ROUTE.
 */
export async function ensureBridge(host: NetlinkFile, { bridge, mtu, ranges }: NetworkConfig): Promise<Link> {
  const known = await findInterface(host, bridge)
  if (known === undefined) {
    const made = createBridge(bridge, { mac: macOf(ranges.map(gatewayOf)), mtu, alias: ALIAS })
    await unlessThere(request(host, [made])) // another pod may be faster
    ignoreRouters(bridge)
  }
  const found = known ?? (await findInterface(host, bridge))!
  const gateways = ranges.map((range) => `${gatewayOf(range)}/${range.prefix}`)
  await request(host, [setUp(found.index), ...gateways.map((gateway) => keepAddress(found.index, gateway))])
  return found
}

async function unlessThere(making: Promise<unknown>): Promise<void> {
  try {
    await making
  } catch (err) {
    if (!(err instanceof KernelError && err.errno === EEXIST)) throw err
  }
}

/** Keeps pods from giving the node routes by advertisements of IPv6. */
function ignoreRouters(bridge: string): void {
  try {
    writeFileSync(`/proc/sys/net/ipv6/conf/${bridge}/accept_ra`, "0")
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "ENOENT") throw err // the kernel has no IPv6
  }
}
