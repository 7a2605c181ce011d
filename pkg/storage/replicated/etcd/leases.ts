import type { Clock } from "../../../clock/clock.ts"
import type { EtcdConnection } from "../../../etcd/connection.ts"
import { RPC } from "../../../etcd/messages.ts"

const TIMEOUT_MS = 2000
/**
 * How long new keys share a lease: at most this long, and at most this share of their time to live. The lease lives
 * longer by that time.
 */
const LONGEST_REUSE_SECONDS = 60
const REUSE_SHARE = 0.05
/**
 * The number of keys of a lease. etcd deletes them in one transaction, which has room for 1000 changes (numbering.ts),
 * and whose events reach watchers at once. Differs from upstream: 1000.
 */
const MOST_KEYS = 500

interface Current {
  readonly id: Promise<bigint>
  /** A time of the monotonic clock. */
  readonly until: number
  keys: number
}

/**
 * Leases of etcd, which deletes the keys of a lease when the lease ends. Keys that are written within a minute share
 * one, because each lease is a commit of etcd and a timer there. Source: apiserver pkg/storage/etcd3/lease_manager.go.
 */
export class Leases {
  readonly #etcd: EtcdConnection
  readonly #clock: Clock
  readonly #current = new Map<number, Current>()

  constructor(etcd: EtcdConnection, clock: Clock) {
    this.#etcd = etcd
    this.#clock = clock
  }

  /** Resolves to a lease for this many keys which live for `ttlSeconds`. @throws EtcdError */
  async of(ttlSeconds: number, keys: number): Promise<bigint> {
    const now = this.#clock.monotonic()
    let current = this.#current.get(ttlSeconds)
    if (current === undefined || current.until <= now || current.keys + keys > MOST_KEYS) {
      const reuse = Math.min(LONGEST_REUSE_SECONDS, Math.floor(ttlSeconds * REUSE_SHARE))
      current = { id: this.#grant(ttlSeconds + reuse), until: now + reuse * 1000, keys: 0 }
      this.#current.set(ttlSeconds, current)
    }
    current.keys += keys
    try {
      return await current.id
    } catch (err) {
      if (this.#current.get(ttlSeconds) === current) this.#current.delete(ttlSeconds)
      throw err
    }
  }

  /** Forgets all leases, because etcd no longer knows one of them. */
  forget(): void {
    this.#current.clear()
  }

  async #grant(ttlSeconds: number): Promise<bigint> {
    return (await this.#etcd.call(RPC.grant, { ttlSeconds }, TIMEOUT_MS)).id
  }
}
