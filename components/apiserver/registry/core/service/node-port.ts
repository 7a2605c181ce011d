/**
 * The node ports of Services, in a store that servers share: each has a key of its own, written and deleted in one
 * transaction with its Service. So of two servers that choose the same port at the same time only one can write it, and
 * none can leak. Differs from upstream, which has one bitmap of all ports, `/ranges/servicenodeports`, and checks it
 * against the Services now and then: pkg/registry/core/rangeallocation.
 */
import type { Service } from "../../../../../pkg/api/core/v1/service/service.ts"
import type { KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import { timestamp, type Clock } from "../../../../../pkg/clock/clock.ts"
import type { Storage, Write } from "../../../../../pkg/storage/storage.ts"

export const nodePortKey = (port: number): string => `/registry/ranges/servicenodeports/${port}`

/** What is stored under the key of a port; no kind of the API. */
interface TakenPort extends KubeObject {
  /** `<namespace>/<name>` of the Service that has the port. */
  readonly service: string
}

/** The node ports that a Service has; one that two protocols share is named twice. */
export const nodePortsOf = ({ spec }: Service): readonly number[] => [
  ...(spec.ports ?? []).flatMap(({ nodePort }) => nodePort || []),
  ...(spec.healthCheckNodePort ? [spec.healthCheckNodePort] : []),
]

/** Returns the writes of ports' keys that belong to the change of a Service from `old` to `next`. */
export function nodePortWrites(
  storage: Storage,
  clock: Clock,
  next: Service | undefined,
  old: Service | undefined,
): readonly Write[] {
  const now = new Set(next === undefined ? [] : nodePortsOf(next))
  const before = new Set(old === undefined ? [] : nodePortsOf(old))
  const common = { time: clock.now(), author: "system:apiserver" }
  const taken = [...now]
    .filter((port) => !before.has(port))
    .map((port) => ({ ...common, key: nodePortKey(port), object: takenBy(next!, port, clock), expected: 0 }))
  const freed = [...before]
    .filter((port) => !now.has(port))
    .flatMap((port) => {
      const stored = storage.get(nodePortKey(port))
      // Two Services have one port where an administrator has written to the store.
      if (stored === undefined || (stored.object as TakenPort).service !== nameOf(old!)) return []
      return [{ ...common, key: stored.key, object: null, expected: stored.revision }]
    })
  return [...taken, ...freed]
}

const takenBy = (service: Service, port: number, clock: Clock): TakenPort => ({
  apiVersion: "v1",
  kind: "RangeAllocation",
  metadata: { name: String(port), creationTimestamp: timestamp(clock) },
  service: nameOf(service),
})

const nameOf = ({ metadata }: Service): string => `${metadata.namespace}/${metadata.name}`
