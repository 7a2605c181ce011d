import { addressBytes, addressIn, findLinkAt, linkIn, listAddresses } from "../../../../pkg/netlink/links.ts"
import { list, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import type { Self } from "./backend.ts"

/** Returns the interface that has an address. @throws Error when none has it */
export async function uplinkOf(socket: NetlinkFile, address: string): Promise<Self["uplink"]> {
  const bytes = addressBytes(address).toString("hex")
  const found = (await list(socket, listAddresses())).map(addressIn).find((one) => one.bytes === bytes)
  if (found === undefined)
    throw new Error(
      `no interface of this machine has the address ${address}: choose one by --node-ip or --flannel-iface`,
    )
  const [reply] = await request(socket, [findLinkAt(found.index)])
  return { index: found.index, mtu: linkIn(reply!).mtu }
}
