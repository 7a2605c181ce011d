import { canonicalAddress, parseAddress } from "../../../pkg/apimachinery/cidr.ts"
import type { Gateway } from "../../../pkg/gateway-api/gateway.ts"
import { fails, type Told } from "./conditions.ts"

/** What this machine has for Gateways. */
export interface Ground {
  /** Addresses of this machine of which Gateways get one each, as long as there are any. */
  readonly pool: readonly string[]
  /** Addresses that all Gateways share which name none. */
  readonly nodeIps: readonly string[]
  /** Whether an address is one of this machine's, which a Gateway may have for itself. */
  readonly isOwnAddress: (address: string) => boolean
  /** Who has a port that no listener may have; undefined for one that is free. */
  readonly reserved: (port: number) => string | undefined
  /** Ports at which Ingresses are served. */
  readonly ingressPorts: ReadonlyMap<number, "http" | "tls">
}

export interface GatewayAddresses {
  /** The addresses at which the Gateway alone is served; undefined stands for those that are shared. */
  readonly sites: readonly (string | undefined)[]
  /** For its status. */
  readonly shown: readonly string[]
  /** Why some of `spec.addresses` cannot be had: the condition Accepted, or Programmed. */
  readonly told: Told | undefined
}

/**
 * A Gateway that was `given` an address of the pool has that. Another without addresses, or with one without a value, shares those of the node. One that names other addresses of
 * this machine is served at these alone.
 */
export function addressesOf(
  { spec }: Gateway,
  given: string | undefined,
  { nodeIps, isOwnAddress }: Ground,
): GatewayAddresses {
  if (given !== undefined) return { sites: [given], shown: [given], told: undefined }
  const sites = new Set<string | undefined>()
  const shown = new Set<string>()
  let told: Told | undefined
  for (const { type, value = "" } of spec.addresses ?? []) {
    if (type !== "IPAddress") {
      told = fails("Accepted", "UnsupportedAddress", `spec.addresses: type ${type} is not supported: take IPAddress`)
      continue
    }
    const address = parseAddress(value) === undefined ? value : canonicalAddress(value)
    if (value === "" || nodeIps.includes(address)) {
      sites.add(undefined)
      for (const ip of value === "" ? nodeIps : [address]) shown.add(ip)
    } else if (isOwnAddress(address)) {
      sites.add(address)
      shown.add(address)
    } else told ??= fails("Programmed", "AddressNotUsable", `spec.addresses: ${value} is no address of this machine`)
  }
  if ((spec.addresses ?? []).length === 0) return { sites: [undefined], shown: nodeIps, told }
  return { sites: [...sites], shown: [...shown], told }
}
