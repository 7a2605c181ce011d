import { bitsOf, familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { addAddress, addressIn, addressOf, listAddresses, removeAddress } from "../../../../pkg/netlink/links.ts"
import { list, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"

/** Returns the first address of a range in canonical form, which no pod has: other nodes route by it, and this node sends from it. */
export const baseAddress = (podCidr: string): string => podCidr.split("/")[0]!

/**
 * Gives an interface to other nodes the base address of each range, and no others but link-local ones, so that what
 * this node itself sends to pods of other nodes has a source that their nodes send back by the same way.
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
