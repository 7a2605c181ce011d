import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { EndpointSlice, MANAGED_BY, serviceKeyOf } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import type { Endpoint } from "../../../pkg/api/discovery/v1/endpoint.ts"
import type { Client } from "../../../pkg/client/client.ts"
import type { Index, Informers, Key } from "../../../pkg/client/informer.ts"
import { controllerRef } from "../../../pkg/controller/owned.ts"
import type { ResolvedPort } from "./endpoint-ports.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"

/** Source: k8s.io/endpointslice/reconciler.go. */

/** Endpoints that serve the same ports, each under a key that identifies the endpoint over time. */
export interface Group {
  readonly ports: readonly ResolvedPort[]
  readonly endpoints: Map<string, Endpoint>
}

/** The wanted slices of one owner and address family. */
export interface SlicePlan {
  readonly owner: KubeObject
  readonly family: EndpointSlice["addressType"]
  /** By `portsKey`. */
  readonly wanted: ReadonlyMap<string, Group>
  readonly existing: readonly EndpointSlice[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly maxEndpoints: number
  keyOf(endpoint: Endpoint): string
  /** Sets the hints of endpoints, where these follow from all slices together; then wanted endpoints have none. */
  hinted?(changes: SliceChanges): SliceChanges
}

/** A slice that is to be written. */
export interface SliceDraft {
  readonly endpoints: readonly Endpoint[]
}
interface NewSlice extends SliceDraft {
  readonly ports: Group["ports"]
}
interface ChangedSlice extends SliceDraft {
  readonly slice: EndpointSlice
  /** The ports, where the slice gets others. */
  readonly ports?: Group["ports"]
}

/** What is to become of the slices of one owner and address family. */
export interface SliceChanges {
  readonly created: readonly NewSlice[]
  readonly updated: readonly ChangedSlice[]
  readonly unchanged: readonly EndpointSlice[]
}

const byManagerAndService: Index<EndpointSlice> = {
  name: "manager-and-service",
  of: (slice) => {
    const { labels = {}, deletionTimestamp } = slice.metadata
    const manager = labels[MANAGED_BY]
    return manager === undefined || deletionTimestamp !== undefined ? [] : [`${manager} ${serviceKeyOf(slice)}`]
  },
}

/** Returns the slices of a Service that a controller manages, and that are not being deleted. */
export const slicesOf = (service: Key, manager: string, informers: Informers): readonly EndpointSlice[] =>
  informers.of(EndpointSlice).by(byManagerAndService, `${manager} ${service}`)

/** Changes as few slices as possible: endpoints stay in their slice, and new ones fill free places or new slices. */
export async function reconcileSlices(plan: SlicePlan, client: Client): Promise<void> {
  const { owner, family, labels, annotations } = plan
  const { removed: unwanted, ...planned } = changesOf(plan)
  const { created, updated, removed } = recycled(plan.hinted?.(planned) ?? planned, unwanted)
  for (const { endpoints, ports } of created) {
    await client.create(EndpointSlice, {
      metadata: {
        generateName: `${owner.metadata.name}-`,
        namespace: owner.metadata.namespace,
        labels,
        annotations,
        ownerReferences: [controllerRef(owner)],
      },
      addressType: family,
      endpoints,
      ports,
    })
  }
  for (const { slice, endpoints, ports } of updated) {
    await client.update(EndpointSlice, {
      ...slice,
      metadata: { ...slice.metadata, labels, annotations: { ...slice.metadata.annotations, ...annotations } },
      endpoints,
      ...(ports === undefined ? {} : { ports }),
    })
  }
  for (const slice of removed) await removeSlice(slice, client)
}

/**
 * Writes new slices into those that would be removed, for instance the first endpoints of a Service into its empty
 * slice: one write instead of two, and clients never see a Service without slices. Source: finalize in reconciler.go.
 */
function recycled({ created, updated }: Pick<SliceChanges, "created" | "updated">, unwanted: readonly EndpointSlice[]) {
  const count = Math.min(created.length, unwanted.length)
  const reused = unwanted.slice(0, count).map((slice, i) => ({ slice, ...created[created.length - 1 - i]! }))
  return {
    created: created.slice(0, created.length - count),
    updated: [...updated, ...reused],
    removed: unwanted.slice(count),
  }
}

function changesOf(plan: SlicePlan): SliceChanges & { readonly removed: readonly EndpointSlice[] } {
  const { wanted, existing, labels, maxEndpoints, keyOf } = plan
  const compared = plan.hinted === undefined ? (endpoint: Endpoint) => endpoint : withoutHints
  const created: NewSlice[] = []
  const updated: ChangedSlice[] = []
  const unchanged: EndpointSlice[] = []
  const removed: EndpointSlice[] = []
  const byPorts = slicesByPorts(existing)
  for (const [key, { ports, endpoints: all }] of wanted) {
    const left = new Map(all)
    const kept = (byPorts.get(key) ?? []).map((slice) => {
      const endpoints = (slice.endpoints ?? []).flatMap((before) => {
        const endpoint = left.get(keyOf(before))
        left.delete(keyOf(before))
        return endpoint === undefined ? [] : [endpoint]
      })
      return { slice, endpoints }
    })
    byPorts.delete(key)
    const waiting = [...left.values()]
    for (const { endpoints } of kept) pushAll(endpoints, waiting.splice(0, maxEndpoints - endpoints.length))
    const keepOneEmpty = all.size === 0
    for (const [i, { slice, endpoints }] of kept.entries()) {
      if (endpoints.length === 0 && !(keepOneEmpty && i === 0)) removed.push(slice)
      else if (
        JSON.stringify(endpoints) === JSON.stringify((slice.endpoints ?? []).map(compared)) &&
        sameLabels(slice.metadata.labels, labels)
      )
        unchanged.push(slice)
      else updated.push({ slice, endpoints })
    }
    if (keepOneEmpty && kept.length === 0) created.push({ ports, endpoints: [] })
    while (waiting.length > 0) created.push({ ports, endpoints: waiting.splice(0, maxEndpoints) })
  }
  pushAll(removed, [...byPorts.values()].flat())
  return { created, updated, unchanged, removed }
}

function slicesByPorts(slices: readonly EndpointSlice[]): Map<string, EndpointSlice[]> {
  const byPorts = new Map<string, EndpointSlice[]>()
  for (const slice of slices) {
    const key = portsKey(
      (slice.ports ?? []).map(({ name = "", protocol = "TCP", port = 0, appProtocol }) => ({
        name,
        protocol,
        port,
        appProtocol,
      })),
    )
    byPorts.set(key, [...(byPorts.get(key) ?? []), slice])
  }
  return byPorts
}

export const withoutHints = ({ hints: _, ...endpoint }: Endpoint): Endpoint => endpoint

export async function removeSlice(slice: EndpointSlice, client: Client): Promise<void> {
  await client.delete(EndpointSlice, slice.metadata).catch((err: unknown) => {
    if (!isNotFound(err)) throw err
  })
}

const sameLabels = (a: Readonly<Record<string, string>> | undefined, b: Readonly<Record<string, string>>): boolean =>
  Object.keys(a ?? {}).length === Object.keys(b).length && Object.entries(b).every(([key, value]) => a?.[key] === value)

export const portsKey = (ports: readonly ResolvedPort[]): string =>
  ports
    .map(({ name, protocol, port, appProtocol = "" }) => `${name}/${protocol}/${port}/${appProtocol}`)
    .sort()
    .join(",")
