import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
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
const NAMESPACE = "kube-system"
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
}

/**
 * Keeps the endpoints of the Service `kubernetes` to the servers that are alive, where several share the store: each
 * renews a Lease, and each corrects the endpoints. Returns the function that ends this: it deletes the Lease of this
 * server, so that the others remove its address at once. Source: pkg/controlplane/reconcilers/lease.go, which has its
 * leases in etcd.
 */
export function keepLiveServers(options: LiveServersOptions): () => Promise<void> {
  const { storage, client, clock, log, address, port } = options
  const name = `${PREFIX}${address.replace(/[.:]/g, "-")}-${port}`
  const prefix = storageKey(Lease, { namespace: NAMESPACE, name: PREFIX })
  /** The Leases with the time at which this server has seen them: the times in them are of other clocks. */
  let seen: ReadonlyMap<string, { readonly revision: number; readonly at: number }> = new Map()
  let beating = Promise.resolve()
  let renewal: Timer | undefined
  let expiry: Timer | undefined
  let stopped = false

  /** Returns the addresses of the servers that are alive, and when the first of their Leases ends. */
  function living(): { readonly addresses: readonly string[]; readonly nextEnd: number } {
    const now = clock.monotonic()
    const leases = storage.list(prefix)
    const addresses = new Set([address])
    let nextEnd = Infinity
    seen = new Map(
      leases.map(({ key, revision }) => {
        const before = seen.get(key)
        return [key, before?.revision === revision ? before : { revision, at: now }]
      }),
    )
    for (const { key, object } of leases) {
      const end = seen.get(key)!.at + LEASE_SECONDS * 1000
      const holder = (object as Lease).spec.holderIdentity ?? ""
      if (end <= now || holder === address || familyOf(holder) !== familyOf(address)) continue
      addresses.add(holder)
      nextEnd = Math.min(nextEnd, end)
    }
    return { addresses: [...addresses].sort(), nextEnd }
  }

  function look(): void {
    expiry?.cancel()
    if (stopped) return
    const { addresses, nextEnd } = living()
    if (nextEnd < Infinity)
      expiry = clock.setTimeout(
        () => (expiry = clock.setTimeout(look, CONFIRM_MS)),
        nextEnd - clock.monotonic(),
        "watchdog",
      )
    correct(addresses).catch(told)
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
    const key = storageKey(Lease, { namespace: NAMESPACE, name })
    const stored = storage.get(key)?.object as Lease | undefined
    const spec = { holderIdentity: address, leaseDurationSeconds: LEASE_SECONDS, renewTime: microTimestamp(clock) }
    const labels = { "apiserver.kubernetes.io/identity": "kube-apiserver" }
    if (stored === undefined) await client.create(Lease, { metadata: { namespace: NAMESPACE, name, labels }, spec })
    else await client.update(Lease, { ...stored, spec })
  }

  function beat(): void {
    beating = renew()
      .catch(told)
      .then(() => {
        if (!stopped) renewal = clock.setTimeout(beat, RENEW_MS, "upkeep")
      }, told)
  }

  /** Another server that came first, and a store that is away, are made up for by the next renewal. */
  function told(error: unknown): void {
    if (stopped || isReason(error, "Conflict", "AlreadyExists", "NotFound", "ServiceUnavailable", "Timeout")) return
    log.error("Failed to keep the endpoints of the API servers", { error })
  }

  const unsubscribe = storage.subscribe(
    (events) => {
      if (events.some(({ key }) => key.startsWith(prefix))) look()
    },
    [prefix],
  )
  beat()
  look()
  return async () => {
    stopped = true
    unsubscribe()
    renewal?.cancel()
    expiry?.cancel()
    const over = new AbortController()
    const late = sleep(clock, RELEASE_MS, over.signal).catch(() => undefined)
    // A renewal that is under way would make the Lease again.
    const released = beating.then(() => client.delete(Lease, { namespace: NAMESPACE, name })).catch(told)
    await Promise.race([released, late])
    over.abort()
  }
}
