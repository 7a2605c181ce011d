import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import type { Endpoint } from "../../../pkg/api/discovery/v1/endpoint.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { controllerRef } from "../../../pkg/controller/owned.ts"
import type { ResolvedPort } from "./endpoint-ports.ts"

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
}

/** Changes as few slices as possible: endpoints stay in their slice, and new ones fill free places or new slices. */
export async function reconcileSlices(
  { owner, family, wanted, existing, labels, annotations, maxEndpoints, keyOf }: SlicePlan,
  client: Client,
): Promise<void> {
  const byPorts = new Map<string, EndpointSlice[]>()
  for (const slice of existing) {
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
  for (const [key, group] of wanted) {
    const slices = byPorts.get(key) ?? []
    byPorts.delete(key)
    const left = new Map(group.endpoints)
    const plans = slices.map((slice) => {
      const endpoints = (slice.endpoints ?? []).flatMap((before) => {
        const endpoint = left.get(keyOf(before))
        left.delete(keyOf(before))
        return endpoint === undefined ? [] : [endpoint]
      })
      return { slice, endpoints }
    })
    const waiting = [...left.values()]
    for (const plan of plans) plan.endpoints.push(...waiting.splice(0, maxEndpoints - plan.endpoints.length))
    const keepOneEmpty = group.endpoints.size === 0
    for (const [i, { slice, endpoints }] of plans.entries()) {
      if (endpoints.length === 0 && !(keepOneEmpty && i === 0)) await removeSlice(slice, client)
      else if (
        JSON.stringify(endpoints) !== JSON.stringify(slice.endpoints) ||
        !sameLabels(slice.metadata.labels, labels)
      ) {
        await client.update(EndpointSlice, {
          ...slice,
          metadata: { ...slice.metadata, labels, annotations: { ...slice.metadata.annotations, ...annotations } },
          endpoints,
        })
      }
    }
    const rest = waiting.length > 0 ? waiting : keepOneEmpty && slices.length === 0 ? [] : undefined
    for (
      let endpoints = rest?.splice(0, maxEndpoints);
      endpoints !== undefined;
      endpoints = rest!.length > 0 ? rest!.splice(0, maxEndpoints) : undefined
    ) {
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
        ports: group.ports,
      })
    }
  }
  for (const slice of [...byPorts.values()].flat()) await removeSlice(slice, client)
}

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
