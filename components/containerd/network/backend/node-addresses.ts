import { networkInterfaces } from "node:os"
import type { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"

export interface NodeAddresses {
  /** The addresses by which the other nodes reach this one: at most one of each family, the primary one first. */
  readonly announced: readonly string[]
  /**
   * The primary address on an interface of this machine. It differs from the one above only where a NAT is in between.
   */
  readonly local: string | undefined
}

export interface NodeAddressesOptions {
  /** The interface whose addresses are used instead of those of the Node: --flannel-iface. */
  readonly interface?: string | undefined
  /** Whether the Node's external addresses are announced: --flannel-external-ip. */
  readonly external?: boolean | undefined
}

/** Returns the addresses by which this node and others reach each other, given its Node. */
export function nodeAddresses({ status }: Node, { interface: name, external }: NodeAddressesOptions): NodeAddresses {
  const ofType = (wanted: string) =>
    (status.addresses ?? []).filter(({ type }) => type === wanted).map(({ address }) => address)
  const internal = ofType("InternalIP")
  const own = oneOfEach(name === undefined ? internal : inOrder(addressesOf(name), internal))
  const outer = external === true ? oneOfEach(ofType("ExternalIP")) : []
  return { announced: outer.length > 0 ? outer : own, local: own[0] }
}

const oneOfEach = (addresses: readonly string[]): readonly string[] =>
  addresses.filter((one, i) => addresses.findIndex((other) => familyOf(other) === familyOf(one)) === i)

/** Puts the addresses first that have the primary family of the node. */
const inOrder = (addresses: readonly string[], [primary = ""]: readonly string[]): readonly string[] =>
  addresses.toSorted((a, b) => Number(familyOf(a) !== familyOf(primary)) - Number(familyOf(b) !== familyOf(primary)))

const addressesOf = (name: string): readonly string[] =>
  (networkInterfaces()[name] ?? []).map(({ address }) => address).filter((one) => !one.startsWith("fe80:"))
