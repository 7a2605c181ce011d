/**
 * The IPAddress objects of Services: each cluster IP has one, made and removed in one transaction with its Service.
 * What somebody else does to them is mended at once, and at the start. Source:
 * pkg/registry/core/service/ipallocator/controller/repairip.go.
 */
import { Service } from "../../../../../pkg/api/core/v1/service/service.ts"
import { IPAddress } from "../../../../../pkg/api/networking/v1/ipaddress.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/equal.ts"
import type { KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import { timestamp, type Clock } from "../../../../../pkg/clock/clock.ts"
import { uuid, type Random } from "../../../../../pkg/clock/random.ts"
import type { Logger } from "../../../../../pkg/log/log.ts"
import { StorageError, type Storage, type Stored, type Write } from "../../../../../pkg/storage/storage.ts"
import { storageKey, storagePrefix } from "../../../cacher/view.ts"
import { addressKey } from "./service-addresses.ts"

const FAMILY = "ipaddress.kubernetes.io/ip-family"
const MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
const ALLOCATOR = "ipallocator.k8s.io"
const AUTHOR = "system:apiserver"

interface Making {
  readonly clock: Clock
  readonly random: Random
}

/** The addresses a Service holds. */
export const addressesOf = (service: Service | undefined): readonly string[] =>
  service === undefined || service.spec.type === "ExternalName"
    ? []
    : (service.spec.clusterIPs ?? []).filter((ip) => ip !== "" && ip !== "None")

/** What says that `ip` belongs to a Service. */
export const ipAddressOf = (
  { namespace, name }: KubeObject["metadata"],
  ip: string,
): Pick<IPAddress, "spec"> & { readonly metadata: KubeObject["metadata"] } => ({
  metadata: { name: ip, labels: { [FAMILY]: ip.includes(":") ? "IPv6" : "IPv4", [MANAGED_BY]: ALLOCATOR } },
  spec: { parentRef: { resource: "services", namespace: namespace!, name: name! } },
})

/** What is to be written along with a Service that goes from `old` to `next`. */
export function addressWrites(
  storage: Storage,
  making: Making,
  next: Service | undefined,
  old: Service | undefined,
): readonly Write[] {
  const [now, before] = [addressesOf(next), addressesOf(old)]
  return [
    ...now.filter((ip) => !before.includes(ip)).map((ip) => creation(making, next!, ip)),
    ...before
      .filter((ip) => !now.includes(ip))
      .flatMap((ip) => removal(storage.get(addressKey(ip)), old!, making.clock) ?? []),
  ]
}

function creation({ clock, random }: Making, service: Service, ip: string): Write {
  const wanted = ipAddressOf(service.metadata, ip)
  const object = {
    apiVersion: "networking.k8s.io/v1",
    kind: "IPAddress",
    ...wanted,
    metadata: { ...wanted.metadata, uid: uuid(random), generation: 1, creationTimestamp: timestamp(clock) },
  } as KubeObject
  return { key: addressKey(ip), object, expected: 0, time: clock.now(), author: AUTHOR }
}

/** Only what the allocator made for this very Service goes with it. */
function removal(stored: Stored | undefined, service: Service, clock: Clock): Write | undefined {
  return stored !== undefined && isManaged(stored.object as IPAddress) && isOf(stored.object as IPAddress, service)
    ? { key: stored.key, object: null, expected: stored.revision, time: clock.now(), author: AUTHOR }
    : undefined
}

const isManaged = ({ metadata }: IPAddress): boolean => metadata.labels?.[MANAGED_BY] === ALLOCATOR
const isOf = ({ spec: { parentRef } }: IPAddress, { metadata }: Service): boolean =>
  (parentRef.group ?? "") === "" &&
  parentRef.resource === "services" &&
  parentRef.namespace === metadata.namespace &&
  parentRef.name === metadata.name

const SERVICES = storagePrefix(Service, undefined)
const ADDRESSES = storagePrefix(IPAddress, undefined)

/**
 * Gives every cluster IP its IPAddress again where it was taken away or changed, and removes those whose Service has
 * gone.
 */
export function keepAddresses({
  storage,
  clock,
  random,
  log,
}: Making & { readonly storage: Storage; readonly log: Logger }): () => void {
  const write = (writes: readonly Write[]) => {
    storage.writeAll(writes).catch((error: unknown) => {
      // Somebody was faster: that change's event comes here again.
      if (!(error instanceof StorageError && ["exists", "conflict", "missing"].includes(error.code)))
        log.error("Cannot mend the address of a Service", { addresses: writes.map(({ key }) => key), error })
    })
  }
  /** What a cluster IP lacks; an address that belongs to something else is left to its owner. */
  const lacking = (service: Service, ip: string): Write | undefined => {
    const stored = storage.get(addressKey(ip))
    if (stored === undefined) return creation({ clock, random }, service, ip)
    const { metadata } = stored.object as IPAddress
    const labels = { ...metadata.labels, ...ipAddressOf(service.metadata, ip).metadata.labels }
    if (!isOf(stored.object as IPAddress, service) || deepEqual(labels, metadata.labels)) return undefined
    return {
      key: stored.key,
      object: { ...stored.object, metadata: { ...metadata, labels } },
      expected: stored.revision,
      time: clock.now(),
      author: AUTHOR,
    }
  }
  const parentOf = ({ spec: { parentRef } }: IPAddress): Service | undefined =>
    storage.get(storageKey(Service, parentRef))?.object as Service | undefined

  const all = storage
    .list(SERVICES)
    .flatMap(({ object }) => addressesOf(object as Service).flatMap((ip) => lacking(object as Service, ip) ?? []))
  // two may claim one address: the first keeps it
  const mended = all.filter(({ key }, i) => all.findIndex((other) => other.key === key) === i)
  const leaked = storage.list(ADDRESSES).flatMap((stored): readonly Write[] => {
    const address = stored.object as IPAddress
    if (!isManaged(address) || addressesOf(parentOf(address)).includes(address.metadata.name!)) return []
    return [{ key: stored.key, object: null, expected: stored.revision, time: clock.now(), author: AUTHOR }]
  })
  if (mended.length + leaked.length > 0) write([...mended, ...leaked])
  return storage.subscribe((events) => {
    for (const { key, stored } of events) {
      if (!key.startsWith(ADDRESSES)) continue
      const address = stored.object as IPAddress
      const service = parentOf(address)
      if (service === undefined || !addressesOf(service).includes(address.metadata.name!)) continue
      const wanted = lacking(service, address.metadata.name!)
      if (wanted !== undefined) write([wanted])
    }
  })
}
