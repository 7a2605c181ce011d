import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import {
  SERVER_LEASE_LABELS,
  SERVER_LEASE_NAMESPACE,
  servingAnnotations,
} from "../../pkg/api/coordination/v1/server-lease.ts"
import { Endpoints } from "../../pkg/api/core/v1/service/endpoints.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { familyOf } from "../../pkg/apimachinery/addresses/cidr.ts"
import { isReason } from "../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../pkg/apimachinery/json/equal.ts"
import type { Client } from "../../pkg/client/client.ts"
import { microTimestamp, sleep, type Clock, type Timer } from "../../pkg/clock/clock.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Storage } from "../../pkg/storage/storage.ts"
import { storageKey } from "./cacher/view.ts"

/** How long a server counts as alive after its Lease has changed. Source: DefaultEndpointReconcilerTTL. */
const LEASE_SECONDS = 15
const RENEW_MS = 5000
/** A Lease that seems to have ended is looked at again after this time, since its renewal may be under way. */
const CONFIRM_MS = 2000
/** How long a stop waits for the deletion of its Lease: the store may be away. */
const RELEASE_MS = 1000
const NAMESPACE = SERVER_LEASE_NAMESPACE
const PREFIX = "apiserver-"
const KUBERNETES = { namespace: "default", name: "kubernetes" }

export interface LiveServersOptions {
  readonly storage: Storage
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  /** The address under which others reach this server. */
  readonly address: string
  readonly port: number
  /** Returns the names and addresses of this server's certificate. */
  readonly servingNames: () => readonly string[]
  /** Called when this server has become the first one, after others were. */
  readonly becameFirst: () => void
}

export interface LiveServers {
  /** Whether this server is the one of those that are alive which does what only one is to do. */
  readonly isFirst: boolean
  /** Deletes the Lease of this server, so that the others remove its address at once. Never rejects. */
  leave(): Promise<void>
}

/**
 * Keeps the endpoints of the Service `kubernetes` to the servers that are alive, where several share the store: each
 * renews a Lease, and each corrects the endpoints. The first one by the names of Leases does what only one is to do;
 * for moments two servers may take themselves for it. Source: pkg/controlplane/reconcilers/lease.go, which has its
 * leases in etcd.
 */
export function keepLiveServers(options: LiveServersOptions): LiveServers {
  const { storage, client, clock, log, address, port } = options
  const name = `${PREFIX}${address.replace(/[.:]/g, "-")}-${port}`
  const prefix = storageKey(Lease, { namespace: NAMESPACE, name: PREFIX })
  const ownKey = storageKey(Lease, { namespace: NAMESPACE, name })
  /** The Leases with the time at which this server has seen them: the times in them are of other clocks. */
  let seen: ReadonlyMap<string, { readonly revision: number; readonly at: number }> = new Map()
  let beating = Promise.resolve()
  let renewal: Timer | undefined
  let expiry: Timer | undefined
  let isFirst = false
  let stopped = false

  /** Returns the addresses of the servers that are alive, and when the first of their Leases ends. */
  function living(): { readonly addresses: readonly string[]; readonly nextEnd: number; readonly first: boolean } {
    const now = clock.monotonic()
    const leases = storage.list(prefix)
    const addresses = new Set([address])
    let nextEnd = Infinity
    let first = true
    seen = new Map(
      leases.map(({ key, revision }) => {
        const before = seen.get(key)
        return [key, before?.revision === revision ? before : { revision, at: now }]
      }),
    )
    for (const { key, object } of leases) {
      const end = seen.get(key)!.at + LEASE_SECONDS * 1000
      const holder = (object as Lease).spec.holderIdentity ?? ""
      if (end <= now || key === ownKey) continue
      first &&= ownKey < key
      if (holder === address || familyOf(holder) !== familyOf(address)) continue
      addresses.add(holder)
      nextEnd = Math.min(nextEnd, end)
    }
    return { addresses: [...addresses].sort(), nextEnd, first }
  }

  function check(): void {
    expiry?.cancel()
    if (stopped) return
    const { addresses, nextEnd, first } = living()
    if (first && !isFirst) queueMicrotask(options.becameFirst)
    isFirst = first
    if (nextEnd < Infinity)
      expiry = clock.setTimeout(
        () => (expiry = clock.setTimeout(check, CONFIRM_MS)),
        nextEnd - clock.monotonic(),
        "watchdog",
      )
    correct(addresses).catch(logFailure)
  }

  async function correct(addresses: readonly string[]): Promise<void> {
    const endpoints = storage.get(storageKey(Endpoints, KUBERNETES))?.object as Endpoints | undefined
    const ports = [{ name: "https", port, protocol: "TCP" as const }]
    const subsets = [{ addresses: addresses.map((ip) => ({ ip })), ports }]
    if (endpoints !== undefined && !deepEqual(endpoints.subsets, subsets))
      await client.update(Endpoints, { ...endpoints, subsets })
    const slice = storage.get(storageKey(EndpointSlice, KUBERNETES))?.object as EndpointSlice | undefined
    const each = addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } }))
    if (slice !== undefined && !deepEqual(slice.endpoints, each))
      await client.update(EndpointSlice, { ...slice, endpoints: each })
  }

  async function renew(): Promise<void> {
    const stored = storage.get(ownKey)?.object as Lease | undefined
    const spec = { holderIdentity: address, leaseDurationSeconds: LEASE_SECONDS, renewTime: microTimestamp(clock) }
    const annotations = servingAnnotations(options.servingNames())
    const metadata = { namespace: NAMESPACE, name, labels: SERVER_LEASE_LABELS, annotations }
    if (stored === undefined) await client.create(Lease, { metadata, spec })
    else await client.update(Lease, { ...stored, metadata: { ...stored.metadata, annotations }, spec })
  }

  function beat(): void {
    beating = renew()
      .catch(logFailure)
      .then(() => {
        if (!stopped) renewal = clock.setTimeout(beat, RENEW_MS, "upkeep")
      }, logFailure)
  }

  /** Another server that came first, and a store that is away, are made up for by the next renewal. */
  function logFailure(error: unknown): void {
    if (stopped || isReason(error, "Conflict", "AlreadyExists", "NotFound", "ServiceUnavailable", "Timeout")) return
    log.error("Failed to keep the endpoints of the API servers", { error })
  }

  const unsubscribe = storage.subscribe(
    (events) => {
      if (events.some(({ key }) => key.startsWith(prefix))) check()
    },
    [prefix],
  )
  beat()
  check()
  return {
    get isFirst() {
      return isFirst
    },
    async leave() {
      stopped = true
      unsubscribe()
      renewal?.cancel()
      expiry?.cancel()
      const over = new AbortController()
      const late = sleep(clock, RELEASE_MS, over.signal).catch(() => undefined)
      // A renewal that is under way would make the Lease again.
      const released = beating.then(() => client.delete(Lease, { namespace: NAMESPACE, name })).catch(logFailure)
      await Promise.race([released, late])
      over.abort()
    },
  }
}
