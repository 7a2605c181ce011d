import { writeFileSync } from "node:fs"
import { addressAt, type Network } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { addAddress, createBridge, findLink, linkIn, setUp, type Link } from "../../../../pkg/netlink/links.ts"
import { KernelError, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { ALIAS } from "../bridge.ts"
import type { NetworkConfig } from "./network-config.ts"
import { macOf } from "./pod-names.ts"

/** Source: asm-generic/errno-base.h. */
const [EEXIST, ENODEV] = [17, 19]

/** Returns the bridge's address in a range, which pods use as their gateway. */
export const gatewayOf = (range: Network): string => addressAt(range, 1)

/** The bridges of pods: made where they are not there, as after somebody has deleted one. */
export class Bridges {
  /** By name, the index and gateways of each bridge that was found complete: pods that follow need not look again. */
  readonly #complete = new Map<string, string>()

  /** Returns the bridge of a network, up and with its addresses. `host` is a socket of NETLINK_ROUTE. */
  async ensure(host: NetlinkFile, { bridge, mtu, ranges }: NetworkConfig): Promise<Link> {
    const known = await findInterface(host, bridge)
    if (known === undefined) {
      const made = createBridge(bridge, { mac: macOf(ranges.map(gatewayOf)), mtu, alias: ALIAS })
      await unlessThere(request(host, [made])) // another pod may be faster
      ignoreRouters(bridge)
    }
    const found = known ?? (await findInterface(host, bridge))!
    const gateways = ranges.map((range) => `${gatewayOf(range)}/${range.prefix}`)
    const complete = `${found.index} ${gateways.join()}`
    if (found.isUp && this.#complete.get(bridge) === complete) return found
    if (!found.isUp) await request(host, [setUp(found.index)])
    for (const gateway of gateways) await unlessThere(request(host, [addAddress(found.index, gateway)]))
    this.#complete.set(bridge, complete)
    return found
  }
}

/** Returns an interface; undefined where there is none of the name. */
export async function findInterface(socket: NetlinkFile, name: string): Promise<Link | undefined> {
  try {
    const [found] = await request(socket, [findLink(name)])
    return linkIn(found!)
  } catch (err) {
    if (err instanceof KernelError && err.errno === ENODEV) return undefined
    throw err
  }
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
