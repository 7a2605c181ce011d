/** Names and hardware addresses that are computed from a pod's identity, so that they need not be stored. */
import { createHash } from "node:crypto"
import { addressNumber, familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { AddressOwner } from "./pod-addresses.ts"

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex")
const withColons = (hex: string): string => hex.replace(/..(?=.)/g, "$&:")

/** Returns the name of the bridge's port for a pod. */
export const portName = ({ containerId, interface: name }: AddressOwner): string =>
  `veth${hashOf(`${containerId}/${name}`).slice(0, 11)}`

/** Returns a hardware address that is computed from a text; 0e marks it as locally administered. */
export const hashedMac = (text: string): string => withColons(`0e${hashOf(text).slice(0, 10)}`)

/** Returns the hardware address of a bridge port. No packet is sent to it. */
export const portMac = (port: string): string => hashedMac(port)

/**
 * Returns the hardware address for a pod with these addresses. It is computed from the addresses, so a neighbour that
 * remembers the hardware address of an earlier pod reaches the pod that has its address now. 0a marks it as locally
 * administered; Docker and the first versions of the plugin `bridge` do the same.
 */
export function macOf(addresses: readonly string[]): string {
  const address = addresses.find((one) => familyOf(one) === "IPv4") ?? addresses[0]!
  return withColons(`0a58${(addressNumber(address) & 0xffff_ffffn).toString(16).padStart(8, "0")}`)
}
