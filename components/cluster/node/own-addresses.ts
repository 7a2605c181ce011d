import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"

export interface OwnAddressesOptions {
  /** Returns the addresses that this machine would have as a node now, the primary one first; none where it has none. */
  readonly read: () => readonly string[]
  /** Whether some interface has an address. */
  readonly isHeld: (address: string) => boolean
  /** Calls `changed` when interfaces get or lose addresses. Returns what ends the calls. @throws Error where it cannot */
  readonly watch: (changed: () => void) => () => void
  readonly clock: Clock
  readonly log: Logger
}

/** Milliseconds after a change until the addresses are read: DHCP takes an address away before it gives the next one. */
const SETTLE_MS = 500

/**
 * The addresses of this machine as a node. They stay while the machine has them, whatever others come; when one is
 * gone, or a family of addresses has come, they are chosen anew as at a start.
 */
export class OwnAddresses {
  readonly #options: OwnAddressesOptions
  readonly #listeners = new Set<() => void>()
  #current: readonly string[]
  #timer: Timer | undefined
  #end = (): void => undefined

  constructor(options: OwnAddressesOptions) {
    this.#options = options
    this.#current = options.read()
  }

  get current(): readonly string[] {
    return this.#current
  }

  /** Calls `listener` after each change, until the function that it returns is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  start(): void {
    const { watch, clock, log } = this.#options
    try {
      this.#end = watch(() => (this.#timer ??= clock.setTimeout(() => this.#check(), SETTLE_MS, "upkeep")))
    } catch (err) {
      log.warn("Cannot watch this machine's addresses; a change applies only at the next start", { err })
    }
  }

  stop(): void {
    this.#end()
    this.#timer?.cancel()
  }

  #check(): void {
    this.#timer = undefined
    const { read, isHeld, log } = this.#options
    const [before, found] = [this.#current, read()]
    const isKept = before.every(isHeld) && found.length <= before.length
    if (isKept || found.length === 0 || deepEqual(before, found)) return
    log.info("The addresses of this machine have changed", { before, addresses: found })
    this.#current = found
    for (const listener of this.#listeners) listener()
  }
}
