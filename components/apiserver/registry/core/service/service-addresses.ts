/**
 * Allocates cluster IPs. An address is taken while an IPAddress object of its name exists, whoever created it. The
 * IPAddress is created and deleted in one transaction with its Service (ip-address.ts), so no address can leak. From
 * the choice of an address to the commit of its Service a reservation in memory holds it. Addresses come from the
 * ServiceCIDRs that are ready and not being deleted, the oldest first. Source: pkg/registry/core/service/ipallocator.
 */
import { IPAddress } from "../../../../../pkg/api/networking/v1/ipaddress.ts"
import { ServiceCIDR } from "../../../../../pkg/api/networking/v1/servicecidr.ts"
import {
  addressText,
  bitsOf,
  canonicalAddress,
  type Family,
  holds,
  type Network,
  parseAddress,
  parseNetwork,
} from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Random } from "../../../../../pkg/clock/random.ts"
import type { Storage } from "../../../../../pkg/storage/storage.ts"
import { StoredKind } from "../../../cacher/stored-kind.ts"
import { storageKey } from "../../../cacher/view.ts"

export const addressKey = (ip: string): string => storageKey(IPAddress, { name: ip })

export class ServiceAddresses {
  readonly #storage: Storage
  readonly #cidrs: StoredKind<ServiceCIDR>
  readonly #random: Random
  /** Addresses of Services whose writes are not committed yet. */
  readonly #reserved = new Set<string>()

  constructor(storage: Storage, random: Random) {
    this.#storage = storage
    this.#cidrs = new StoredKind(storage, ServiceCIDR)
    this.#random = random
  }

  /** Reserves a free address of the family; undefined when every address is taken, or the family has no range. */
  draw(family: Family): string | undefined {
    for (const range of this.#ranges()) {
      if (range.family !== family) continue
      const ip = this.#freeIn(range)
      if (ip === undefined) continue
      this.#reserved.add(ip)
      return ip
    }
    return undefined
  }

  /**
   * Reserves the given address; returns why it cannot be had, or undefined. As upstream, a dry run does not look
   * whether it is free, and words it in another way that it is out of range.
   */
  take(given: string, dryRun: boolean): string | undefined {
    const ip = canonicalAddress(given)
    const address = parseAddress(ip)
    const ranges = this.#ranges().filter(({ family }) => family === address?.family)
    if (address === undefined || !ranges.some((range) => holds(range, address)))
      return dryRun && ranges[0] !== undefined
        ? `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${cidrOf(ranges[0])}`
        : "the provided network does not match the current range"
    if (dryRun) return undefined
    if (this.#isTaken(ip)) return "provided IP is already allocated"
    this.#reserved.add(ip)
    return undefined
  }

  /** Ends a reservation, once the address is in the store or its Service was not written. */
  release(ip: string): void {
    this.#reserved.delete(canonicalAddress(ip))
  }

  #isTaken(ip: string): boolean {
    return this.#reserved.has(ip) || this.#storage.get(addressKey(ip)) !== undefined
  }

  /** The ranges of the ServiceCIDRs, those of the oldest first. */
  #ranges(): readonly Network[] {
    return this.#cidrs
      .list()
      .filter(({ object }) => object.metadata.deletionTimestamp === undefined && isReady(object))
      .sort((a, b) => a.created - b.created)
      .flatMap(({ object }) => (object.spec.cidrs ?? []).flatMap((cidr) => parseNetwork(cidr) ?? []))
      .filter(({ family, prefix }) => family === "IPv4" || prefix >= SHORTEST_PREFIX6)
  }

  /**
   * Finds a free address above the static band, the low end of the range that is kept for Services that name their
   * address; within the band once the rest is full. Source: KEP-3070.
   */
  #freeIn(range: Network): string | undefined {
    const size = range.last - range.first + 1n
    const band = size <= 16n ? 0n : clamp(size / 16n, 16n, 256n)
    const first = range.first + 1n
    // IPv4 has a broadcast address, which nobody gets.
    const last = range.family === "IPv4" ? range.last - 1n : range.last
    return (
      this.#freeBetween(range.family, first + band, last) ??
      this.#freeBetween(range.family, first, first + band - 1n < last ? first + band - 1n : last)
    )
  }

  /** Starts at a random address, so that a released address is seldom used again soon. */
  #freeBetween(family: Family, first: bigint, last: bigint): string | undefined {
    const count = last - first + 1n
    if (count <= 0n) return undefined
    const start = BigInt(Math.floor(this.#random.next() * Number(count)))
    for (let i = 0n; i < count; i++) {
      const ip = addressText({ family, number: first + ((start + i) % count) })
      if (!this.#isTaken(ip)) return ip
    }
    return undefined
  }
}

/** No addresses come from larger ranges. Source: NewIPAllocator in pkg/registry/core/service/ipallocator. */
const SHORTEST_PREFIX6 = 64

const clamp = (value: bigint, least: bigint, most: bigint): bigint =>
  value < least ? least : value > most ? most : value

const cidrOf = ({ family, first, last }: Network): string =>
  `${addressText({ family, number: first })}/${bitsOf(family) - ((last - first + 1n).toString(2).length - 1)}`

const isReady = ({ status }: ServiceCIDR): boolean =>
  status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
