import { canonicalAddress, parseAddress } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Gateway } from "../../../../pkg/gateway-api/gateway.ts"
import { fails, type BareCondition } from "../status/conditions.ts"

/** The addresses and ports of this machine that Gateways can use. */
export interface Ground {
  /**
   * Addresses of this machine that are given to Gateways without `spec.addresses`, one each. Gateways that come when
   * none is left share `nodeIps`.
   */
  readonly pool: readonly string[]
  /** Addresses that are shared by the Gateways that have no address of their own. */
  readonly nodeIps: readonly string[]
  /** Returns whether an address belongs to this machine, so that a Gateway may be served at it alone. */
  readonly isOwnAddress: (address: string) => boolean
  /** Returns who uses a port that no listener may have; undefined for a port that listeners may use. */
  readonly reserved: (port: number) => string | undefined
  /** Ports at which Ingresses are served, with their protocol. */
  readonly ingressPorts: ReadonlyMap<number, "http" | "tls">
}

export interface GatewayAddresses {
  /** Addresses at which this Gateway alone is served; undefined stands for the shared addresses. */
  readonly sites: readonly (string | undefined)[]
  /** The addresses for `status.addresses`. */
  readonly shown: readonly string[]
  /** A condition Accepted or Programmed that says why an entry of `spec.addresses` cannot be used. */
  readonly refusal: BareCondition | undefined
}

/**
 * Returns the addresses of a Gateway. `given` is its address from the pool, which counts alone. Without
 * `spec.addresses`, or for an entry without a value, the Gateway shares the addresses of the node. An entry that is
 * another address of this machine is for this Gateway alone.
 */
export function addressesOf(
  { spec }: Gateway,
  given: string | undefined,
  { nodeIps, isOwnAddress }: Ground,
): GatewayAddresses {
  if (given !== undefined) return { sites: [given], shown: [given], refusal: undefined }
  const sites = new Set<string | undefined>()
  const shown = new Set<string>()
  let refusal: BareCondition | undefined
  for (const { type, value = "" } of spec.addresses ?? []) {
    if (type !== "IPAddress") {
      refusal = fails("Accepted", "UnsupportedAddress", `spec.addresses: type ${type} is not supported: use IPAddress`)
      continue
    }
    const address = parseAddress(value) === undefined ? value : canonicalAddress(value)
    if (value === "" || nodeIps.includes(address)) {
      sites.add(undefined)
      for (const ip of value === "" ? nodeIps : [address]) shown.add(ip)
    } else if (isOwnAddress(address)) {
      sites.add(address)
      shown.add(address)
    } else
      refusal ??= fails("Programmed", "AddressNotUsable", `spec.addresses: ${value} is not an address of this machine`)
  }
  if ((spec.addresses ?? []).length === 0) return { sites: [undefined], shown: nodeIps, refusal }
  return { sites: [...sites], shown: [...shown], refusal }
}
