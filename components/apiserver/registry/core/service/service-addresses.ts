/**
 * Which cluster IPs are free. An address is taken as long as there is an IPAddress object of its name, whoever made it;
 * those go into the store and out of it in one transaction with their Service (ip-address.ts), so nothing can leak or
 * drift. In between stands a reservation, from the choice of an address to the commit of its Service. Ranges are the
 * ServiceCIDRs that are ready and not going away, the oldest first. Source: pkg/registry/core/service/ipallocator.
 */
import { IPAddress } from "../../../../../pkg/api/networking/v1/ipaddress.ts"
import { ServiceCIDR } from "../../../../../pkg/api/networking/v1/servicecidr.ts"
import { holds, parseAddress, parseNetwork, type Network } from "../../../../../pkg/apimachinery/cidr.ts"
import type { Random } from "../../../../../pkg/clock/random.ts"
import type { Storage } from "../../../../../pkg/storage/storage.ts"
import { storageKey, storagePrefix } from "../../../cacher/view.ts"
import { ipText } from "./ip-range.ts"

export type AddressRefusal =
  | "provided IP is already allocated"
  | "the provided network does not match the current range"

const CIDRS = storagePrefix(ServiceCIDR, undefined)
export const addressKey = (ip: string): string => storageKey(IPAddress, { name: ip })

export class ServiceAddresses {
  readonly #storage: Storage
  readonly #random: Random
  /** Addresses whose Services are on their way into the store. */
  readonly #reserved = new Set<string>()

  constructor(storage: Storage, random: Random) {
    this.#storage = storage
    this.#random = random
  }

  /** An address nobody has, now reserved; nothing when all are taken. */
  draw(): string | undefined {
    for (const range of this.#ranges()) {
      const ip = this.#freeIn(range)
      if (ip === undefined) continue
      this.#reserved.add(ip)
      return ip
    }
    return undefined
  }

  /** Reserves a certain address. */
  take(ip: string): AddressRefusal | undefined {
    const address = parseAddress(ip)
    if (address === undefined || !this.#ranges().some((range) => holds(range, address)))
      return "the provided network does not match the current range"
    if (this.#isTaken(ip)) return "provided IP is already allocated"
    this.#reserved.add(ip)
    return undefined
  }

  /** Ends a reservation: the address is in the store by now, or is not wanted after all. */
  release(ip: string): void {
    this.#reserved.delete(ip)
  }

  #isTaken(ip: string): boolean {
    return this.#reserved.has(ip) || this.#storage.get(addressKey(ip)) !== undefined
  }

  /** One family is served, IPv4. */
  #ranges(): readonly Network[] {
    return this.#storage
      .list(CIDRS)
      .filter(({ object }) => object.metadata.deletionTimestamp === undefined && isReady(object as ServiceCIDR))
      .sort((a, b) => a.created - b.created)
      .flatMap(({ object }) => ((object as ServiceCIDR).spec.cidrs ?? []).flatMap((cidr) => parseNetwork(cidr) ?? []))
      .filter(({ family }) => family === "IPv4")
  }

  /**
   * Above a band at the low end that is left to those who ask for a certain address, until the upper part is full.
   * Source: KEP-3070.
   */
  #freeIn(range: Network): string | undefined {
    const [first, last] = [Number(range.first) + 1, Number(range.last) - 1]
    const size = Number(range.last - range.first) + 1
    const band = size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256)
    return this.#freeBetween(first + band, last) ?? this.#freeBetween(first, Math.min(first + band - 1, last))
  }

  /** From a random place on, so that addresses are seldom used again soon. */
  #freeBetween(first: number, last: number): string | undefined {
    const count = last - first + 1
    if (count <= 0) return undefined
    const start = Math.floor(this.#random.next() * count)
    for (let i = 0; i < count; i++) {
      const ip = ipText(first + ((start + i) % count))
      if (!this.#isTaken(ip)) return ip
    }
    return undefined
  }
}

const isReady = ({ status }: ServiceCIDR): boolean =>
  status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
