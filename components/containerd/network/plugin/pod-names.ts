/** Names and hardware addresses that follow from a pod, so that nothing has to be kept about it. */
import { createHash } from "node:crypto"
import { addressNumber, familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { AddressOwner } from "./pod-addresses.ts"

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex")
const withColons = (hex: string): string => hex.replace(/..(?=.)/g, "$&:")

/** Returns the name of the bridge's port for a pod. */
export const portName = ({ containerId, interface: name }: AddressOwner): string =>
  `veth${hashOf(`${containerId}/${name}`).slice(0, 11)}`

/** Returns a hardware address that follows from a text; 0e is for local use. */
export const hashedMac = (text: string): string => withColons(`0e${hashOf(text).slice(0, 10)}`)

/** Returns the hardware address of a port, by which nobody reaches anything. */
export const portMac = (port: string): string => hashedMac(port)

/**
 * Returns the hardware address for a pod with these addresses. It follows from the address, so that who knows a former
 * pod's hardware address reaches the pod that has its address now. 0a is for local use, and Docker's prefix for it is
 * also that of the plugin `bridge`'s first versions.
 */
export function macOf(addresses: readonly string[]): string {
  const address = addresses.find((one) => familyOf(one) === "IPv4") ?? addresses[0]!
  return withColons(`0a58${(addressNumber(address) & 0xffff_ffffn).toString(16).padStart(8, "0")}`)
}
