import { bitsOf, familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { addAddress, addressIn, addressOf, listAddresses, removeAddress } from "../../../../pkg/netlink/links.ts"
import { list, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"

/**
 * Returns the first address of a range, in canonical form. No pod has it: other nodes use it as the gateway to this
 * node, and this node as the source of its own packets.
 */
export const baseAddress = (podCidr: string): string => podCidr.split("/")[0]!

/**
 * Gives the interface to other nodes the first address of each range, and removes all other addresses except link-local
 * ones. So packets that this node itself sends to pods of other nodes have a source to which the answers come back
 * through the same interface.
 */
export async function holdBaseAddresses(
  socket: NetlinkFile,
  index: number,
  podCidrs: readonly string[],
): Promise<void> {
  const wanted = podCidrs.map((cidr) => `${baseAddress(cidr)}/${bitsOf(familyOf(cidr))}`)
  const found = (await list(socket, listAddresses()))
    .map(addressIn)
    .filter((address) => address.index === index)
    .map(({ bytes, prefix }) => `${addressOf(Buffer.from(bytes, "hex"))}/${prefix}`)
    .filter((address) => !address.startsWith("fe80:"))
  for (const address of found) if (!wanted.includes(address)) await request(socket, [removeAddress(index, address)])
  for (const address of wanted) if (!found.includes(address)) await request(socket, [addAddress(index, address)])
}
