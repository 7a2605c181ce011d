import type { EndpointSlice } from "../../api/discovery/v1/endpointslice.ts"
import type { Describer } from "./describing.ts"
import { ENDPOINT_SLICES } from "./endpoint-addresses.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeMetadata } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"

const UNSET = "<unset>"

export const describeEndpointSlice: Describer = async (describing, namespace, name) => {
  const slice = await describing.client.get<EndpointSlice>(ENDPOINT_SLICES, namespace, name)
  const events = await eventsOf(describing, slice)
  return description((w) => {
    describeMetadata(w, slice.metadata)
    w.row(0, "AddressType:", slice.addressType)
    describePorts(w, slice)
    describeEndpoints(w, slice)
    describeEvents(w, events, describing.now())
  })
}

function describePorts(w: PrefixWriter, { ports }: EndpointSlice): void {
  if (!ports || ports.length === 0) return w.row(0, "Ports: <unset>")
  w.row(0, "Ports:")
  w.row(1, "Name", "Port", "Protocol")
  w.row(1, "----", "----", "--------")
  for (const { name, port, protocol } of ports) w.row(1, name || UNSET, port ?? UNSET, protocol ?? "")
}

function describeEndpoints(w: PrefixWriter, { endpoints }: EndpointSlice): void {
  if (!endpoints || endpoints.length === 0) return w.row(0, "Endpoints: <none>")
  w.row(0, "Endpoints:")
  for (const { addresses, conditions, hostname, targetRef, nodeName, zone } of endpoints) {
    w.row(1, "- Addresses:", addresses.join(", ") || "<none>")
    w.row(2, "Conditions:")
    w.row(3, "Ready:", conditions?.ready ?? UNSET)
    w.row(2, "Hostname:", hostname ?? UNSET)
    if (targetRef) w.row(2, "TargetRef:", `${targetRef.kind ?? ""}/${targetRef.name ?? ""}`)
    w.row(2, "NodeName:", nodeName ?? UNSET)
    w.row(2, "Zone:", zone ?? UNSET)
  }
}
