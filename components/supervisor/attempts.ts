import { addressText, isMapped, parseAddress } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock } from "../../pkg/clock/clock.ts"

const WINDOW_MS = 60_000
/** The most addresses that are remembered; the one whose first attempt is oldest is forgotten first. */
const MOST_ADDRESSES = 4096

/**
 * Counts attempts of one kind by the client's address: one that has made `most` within a minute must wait until the
 * minute ends. Addresses of one /64 count together: whoever has one IPv6 address has all of its network (RFC 6177).
 */
export class Attempts {
  readonly #most: number
  readonly #clock: Pick<Clock, "monotonic">
  readonly #byAddress = new Map<string, { readonly since: number; count: number }>()

  constructor(clock: Pick<Clock, "monotonic">, most: number) {
    this.#clock = clock
    this.#most = most
  }

  /** Returns how many seconds an address must wait before its next attempt; 0 when it need not wait. */
  waitOf(address: string): number {
    const known = this.#known(networkOf(address))
    if (known === undefined || known.count < this.#most) return 0
    return Math.max(1, Math.ceil((known.since + WINDOW_MS - this.#clock.monotonic()) / 1000))
  }

  add(address: string): void {
    const network = networkOf(address)
    const known = this.#known(network)
    if (known !== undefined) return void known.count++
    this.#byAddress.set(network, { since: this.#clock.monotonic(), count: 1 })
    if (this.#byAddress.size > MOST_ADDRESSES) this.#byAddress.delete(this.#byAddress.keys().next().value!)
  }

  #known(network: string): { readonly since: number; count: number } | undefined {
    const known = this.#byAddress.get(network)
    if (known === undefined || this.#clock.monotonic() - known.since < WINDOW_MS) return known
    this.#byAddress.delete(network)
    return undefined
  }
}

/** Returns the /64 of an IPv6 address, and any other address itself. */
function networkOf(address: string): string {
  const parsed = parseAddress(address)
  return parsed?.family !== "IPv6" || isMapped(address)
    ? address
    : addressText({ family: "IPv6", number: parsed.number >> 64n })
}
