import { writeFileSync } from "node:fs"
import { addressAt, type Network } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { findInterface } from "../../../../pkg/netlink/find-link.ts"
import { configureLink, createBridge, keepAddress, setUp, type Link } from "../../../../pkg/netlink/links.ts"
import { addConnectedRoute } from "../../../../pkg/netlink/routes.ts"
import { KernelError, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { ALIAS } from "../bridge.ts"
import type { NetworkConfig } from "./network-config.ts"
import { macOf } from "./pod-names.ts"

/** Source: asm-generic/errno-base.h. */
const EEXIST = 17

/** Returns the bridge's address in a range, which pods use as their gateway. */
export const gatewayOf = (range: Network): string => addressAt(range, 1)

/**
 * Returns the bridge of a network, up and with its addresses. Creates and repairs it: another program may have deleted
 * the bridge, set it down or removed an address. Its hardware address is set even where it exists: otherwise the kernel
 * takes the lowest one of its ports, and with each pod that comes or goes the pods and the node would send to an
 * address that nobody has any more. `host` is a socket of NETLINK_ROUTE.
 */
export async function ensureBridge(
  host: NetlinkFile,
  { bridge, mtu, ranges }: Pick<NetworkConfig, "bridge" | "mtu" | "ranges">,
): Promise<Link> {
  const known = await findInterface(host, bridge)
  if (known === undefined) {
    const made = createBridge(bridge, { mac: macOf(ranges.map(gatewayOf)), mtu, alias: ALIAS })
    await unlessThere(request(host, [made])) // the call for another pod may have created it meanwhile
    ignoreRouters(bridge)
  }
  const mac = macOf(ranges.map(gatewayOf))
  const found = { ...(known ?? (await findInterface(host, bridge))!), mac }
  if (known !== undefined && known.mac !== mac)
    await request(host, [configureLink(found.index, { mac, mtu: found.mtu })])
  const gateways = ranges.map((range) => `${gatewayOf(range)}/${range.prefix}`)
  await request(host, [setUp(found.index), ...gateways.map((gateway) => keepAddress(found.index, gateway))])
  return found
}

/**
 * Repairs what another program has changed at a bridge that exists: its state, its addresses and the routes to its
 * pods. The kernel adds these routes only together with the addresses.
 */
export async function keepBridge(host: NetlinkFile, bridge: string, ranges: readonly Network[]): Promise<void> {
  const there = await findInterface(host, bridge)
  if (there === undefined) return
  const { index } = await ensureBridge(host, { bridge, mtu: there.mtu, ranges })
  for (const range of ranges)
    await unlessThere(request(host, [addConnectedRoute(`${addressAt(range, 0)}/${range.prefix}`, index)]))
}

async function unlessThere(making: Promise<unknown>): Promise<void> {
  try {
    await making
  } catch (err) {
    if (!(err instanceof KernelError && err.errno === EEXIST)) throw err
  }
}

/** Makes the bridge ignore router advertisements, by which pods could add routes to the node. */
function ignoreRouters(bridge: string): void {
  try {
    writeFileSync(`/proc/sys/net/ipv6/conf/${bridge}/accept_ra`, "0")
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "ENOENT") throw err // the kernel has no IPv6
  }
}
