import type { EndpointSlice } from "../../api/discovery/v1/endpointslice.ts"
import type { ObjectList } from "./describe-client.ts"
import type { Describing } from "./describing.ts"
import { hostAndPort } from "./probes.ts"

export const ENDPOINT_SLICES = { group: "discovery.k8s.io", version: "v1", resource: "endpointslices" }
const SERVICE_LABEL = "kubernetes.io/service-name"
/** Further addresses are only counted. */
const MOST_ADDRESSES = 3

export const slicesOf = (
  { client }: Describing,
  namespace: string,
  service: string,
): Promise<ObjectList<EndpointSlice>> =>
  client.list<EndpointSlice>(ENDPOINT_SLICES, namespace, { labelSelector: `${SERVICE_LABEL}=${service}` })

/**
 * Returns the first addresses of a port that are ready, and how many more there are; those without a port where the
 * endpoints have none. Source: formatEndpointSlices in kubectl pkg/describe.
 */
export function addressesText(slices: readonly EndpointSlice[], portName: string): string {
  if (slices.length === 0) return "<none>"
  const shown: string[] = []
  let count = 0
  // Upstream stops at the fourth address it sees, whether or not that one is ready.
  let more = false
  const visit = (slice: EndpointSlice, textOf: (address: string) => string) => {
    for (const { addresses, conditions } of slice.endpoints ?? []) {
      if (shown.length === MOST_ADDRESSES) more = true
      if (conditions?.ready === false) continue
      if (!more) shown.push(textOf(addresses[0] ?? ""))
      count++
    }
  }
  for (const slice of slices) {
    const ports = slice.ports ?? []
    if (ports.length === 0) visit(slice, (address) => address)
    for (const { name = "", port = 0 } of ports)
      if (name === portName) visit(slice, (address) => hostAndPort(address, port))
  }
  return more ? `${shown.join(",")} + ${count - MOST_ADDRESSES} more...` : shown.join(",")
}
