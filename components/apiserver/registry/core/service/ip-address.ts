/**
 * The IPAddress objects of Services: each cluster IP has one, created and deleted in one transaction with its Service.
 * When a user changes or deletes one, it is repaired at once; all are checked when the server starts. Source:
 * pkg/registry/core/service/ipallocator/controller/repairip.go.
 */
import { familyOf } from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import { Service } from "../../../../../pkg/api/core/v1/service/service.ts"
import { IPAddress } from "../../../../../pkg/api/networking/v1/ipaddress.ts"
import { canonicalAddress } from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import { deepEqual } from "../../../../../pkg/apimachinery/json/equal.ts"
import type { KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import { timestamp, type Clock } from "../../../../../pkg/clock/clock.ts"
import { uuid, type Random } from "../../../../../pkg/clock/random.ts"
import type { Logger } from "../../../../../pkg/log/log.ts"
import { StorageError, type Storage, type Write } from "../../../../../pkg/storage/storage.ts"
import { StoredKind, type StoredOf } from "../../../cacher/stored-kind.ts"
import { addressKey } from "./service-addresses.ts"

const FAMILY = "ipaddress.kubernetes.io/ip-family"
const MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
const ALLOCATOR = "ipallocator.k8s.io"
const AUTHOR = "system:apiserver"
/** Corrections that are under way at once at a start. There may be thousands, when objects came by other ways. */
const AT_ONCE = 100

interface Making {
  readonly clock: Clock
  readonly random: Random
}

/** The cluster IPs of a Service in canonical form, as their IPAddresses are named. */
export const addressesOf = (service: Service | undefined): readonly string[] =>
  service === undefined || service.spec.type === "ExternalName"
    ? []
    : (service.spec.clusterIPs ?? []).filter((ip) => ip !== "" && ip !== "None").map(canonicalAddress)

/** The IPAddress that records `ip` as an address of a Service. */
export const ipAddressOf = (
  { namespace, name }: KubeObject["metadata"],
  ip: string,
): Pick<IPAddress, "spec"> & { readonly metadata: KubeObject["metadata"] } => ({
  metadata: { name: ip, labels: { [FAMILY]: familyOf(ip), [MANAGED_BY]: ALLOCATOR } },
  spec: { parentRef: { resource: "services", namespace: namespace!, name: name! } },
})

/** The writes of IPAddress objects that belong to the change of a Service from `old` to `next`. */
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
      .flatMap((ip) => removal(new StoredKind(storage, IPAddress).get({ name: ip }), old!, making.clock) ?? []),
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

/** Deletes the IPAddress of a Service, unless somebody else created it or it belongs to another Service. */
function removal(stored: StoredOf<IPAddress> | undefined, service: Service, clock: Clock): Write | undefined {
  return stored !== undefined && isManaged(stored.object) && isOf(stored.object, service)
    ? { key: stored.key, object: null, expected: stored.revision, time: clock.now(), author: AUTHOR }
    : undefined
}

const isManaged = ({ metadata }: IPAddress): boolean => metadata.labels?.[MANAGED_BY] === ALLOCATOR
const isOf = ({ spec: { parentRef } }: IPAddress, { metadata }: Service): boolean =>
  (parentRef.group ?? "") === "" &&
  parentRef.resource === "services" &&
  parentRef.namespace === metadata.namespace &&
  parentRef.name === metadata.name

/**
 * Keeps the IPAddress objects in line with the Services: creates or repairs the one of each cluster IP, and deletes
 * those whose Service is gone. Returns the function that ends this.
 */
export function keepAddresses({
  storage,
  clock,
  random,
  log,
}: Making & { readonly storage: Storage; readonly log: Logger }): () => void {
  const services = new StoredKind(storage, Service)
  const addresses = new StoredKind(storage, IPAddress)
  let ended = false
  const write = async (wanted: Write): Promise<void> => {
    try {
      if (!ended) await storage.write(wanted)
    } catch (error) {
      // Another write came first; its event leads here again.
      if (!(error instanceof StorageError && ["exists", "conflict", "missing"].includes(error.code)))
        log.error("Failed to correct the address of a Service", { address: wanted.key, error })
    }
  }
  /** Each by itself, so that one that another server has corrected keeps none from being corrected. */
  const writeAll = async (wanted: readonly Write[]): Promise<void> => {
    for (let i = 0; i < wanted.length; i += AT_ONCE) await Promise.all(wanted.slice(i, i + AT_ONCE).map(write))
  }
  /** The write that a cluster IP needs, if any. An IPAddress that belongs to another object is left alone. */
  const lacking = (service: Service, ip: string): Write | undefined => {
    const stored = addresses.get({ name: ip })
    if (stored === undefined) return creation({ clock, random }, service, ip)
    const { metadata } = stored.object
    const labels = { ...metadata.labels, ...ipAddressOf(service.metadata, ip).metadata.labels }
    if (!isOf(stored.object, service) || deepEqual(labels, metadata.labels)) return undefined
    return {
      key: stored.key,
      object: { ...stored.object, metadata: { ...metadata, labels } },
      expected: stored.revision,
      time: clock.now(),
      author: AUTHOR,
    }
  }
  const parentOf = ({ spec: { parentRef } }: IPAddress): Service | undefined => services.get(parentRef)?.object

  const all = services.list().flatMap(({ object }) => addressesOf(object).flatMap((ip) => lacking(object, ip) ?? []))
  // Two Services may claim one address: the first keeps it.
  const mended = all.filter(({ key }, i) => all.findIndex((other) => other.key === key) === i)
  const leaked = addresses.list().flatMap((stored): readonly Write[] => {
    const address = stored.object
    if (!isManaged(address) || addressesOf(parentOf(address)).includes(address.metadata.name!)) return []
    return [{ key: stored.key, object: null, expected: stored.revision, time: clock.now(), author: AUTHOR }]
  })
  void writeAll([...mended, ...leaked])
  const unsubscribe = addresses.subscribe(({ stored: { object: address } }) => {
    const service = parentOf(address)
    if (service === undefined || !addressesOf(service).includes(address.metadata.name!)) return
    const wanted = lacking(service, address.metadata.name!)
    if (wanted !== undefined) void write(wanted)
  })
  return () => {
    ended = true
    unsubscribe()
  }
}
