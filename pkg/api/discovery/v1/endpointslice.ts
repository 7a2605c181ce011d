import { deepEqual } from "../../../apimachinery/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, invalidValues, required, tooLong, tooMany } from "../../../apimachinery/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import {
  inRange,
  isDNS1123Label,
  isDNS1123Subdomain,
  isFullyQualifiedDomainName,
  isIPAddress,
  isLabelValue,
  isQualifiedName,
  type Check,
  type Problem,
} from "../../../apimachinery/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { specialAddress } from "../../core/v1/endpointaddress.ts"
import { ObjectReference } from "../../core/v1/reference.ts"

/** Source: k8s.io/api discovery/v1/types.go, pkg/registry/discovery/endpointslice/strategy.go, pkg/apis/discovery/validation. */

const MAX_ENDPOINTS = 1000
const MAX_ADDRESSES = 100
const MAX_PORTS = 20000
const MAX_HINTS = 8

export const ForZone = message("discovery.v1.ForZone", "A zone that an endpoint is meant for.", {
  name: f.string(1, "Name of the zone.").required(),
})
export interface ForZone extends ObjectOf<typeof ForZone> {}

export const ForNode = message("discovery.v1.ForNode", "A node that an endpoint is meant for.", {
  name: f.string(1, "Name of the node.").required(),
})
export interface ForNode extends ObjectOf<typeof ForNode> {}

export const EndpointHints = message("discovery.v1.EndpointHints", "Who should use an endpoint.", {
  forZones: f.list(1, ForZone, "Zones that should use it.").atomic(),
  forNodes: f.list(2, ForNode, "Nodes that should use it.").atomic(),
})
export interface EndpointHints extends ObjectOf<typeof EndpointHints> {}

export const EndpointConditions = message("discovery.v1.EndpointConditions", "The state of an endpoint.", {
  ready: f.bool(1, "Whether it takes new traffic; absent counts as true.").pointer(),
  serving: f.bool(2, "Whether it works, even while it is going away; absent counts as ready.").pointer(),
  terminating: f.bool(3, "Whether it is going away.").pointer(),
})
export interface EndpointConditions extends ObjectOf<typeof EndpointConditions> {}

export const Endpoint = message("discovery.v1.Endpoint", "One backend of a Service.", {
  addresses: f
    .list(1, e.string, "Addresses of the backend; any one of them may be used.")
    .listSet()
    .default([])
    .printZero(),
  conditions: f.message(2, EndpointConditions, "State of the backend.").always(),
  hostname: f.string(3, "Name of the backend in DNS.").pointer(),
  targetRef: f.message(4, ObjectReference, "The object that provides the backend."),
  deprecatedTopology: f.map(5, e.string, "Labels of its place, from older versions."),
  nodeName: f.string(6, "Node that hosts it.").pointer(),
  zone: f.string(7, "Zone it is in.").pointer(),
  hints: f.message(8, EndpointHints, "Who should use it."),
})
export interface Endpoint extends ObjectOf<typeof Endpoint> {}

export const EndpointPort = message(
  "discovery.v1.EndpointPort",
  "A port of every endpoint of a slice.",
  {
    name: f.string(1, "Name of the port, as the Service has it.").default("").pointer(),
    protocol: f.string(2, "Transport protocol.").default("TCP").enum("TCP", "UDP", "SCTP").pointer(),
    port: f.int32(3, "Number of the port; absent means all ports.").pointer(),
    appProtocol: f.string(4, "What is spoken over the port, as a hint.").pointer(),
  },
  { mapType: "atomic" },
)
export interface EndpointPort extends ObjectOf<typeof EndpointPort> {}

const fields = {
  addressType: f
    .string(4, "Kind of the addresses; cannot be changed.")
    .required()
    .enum("IPv4", "IPv6", "FQDN")
    .immutable(),
  endpoints: f.list(2, Endpoint, "Backends, at most 1000.").atomic().orNull(),
  ports: f.list(3, EndpointPort, "Ports of every endpoint.").atomic().orNull(),
}
export interface EndpointSlice extends ObjectFor<typeof fields> {}

export const EndpointSlice = defineResource(
  {
    group: "discovery.k8s.io",
    version: "v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    scope: "Namespaced",
    doc: "A part of the backends of a Service; all slices of a Service together are its backends.",
    generation: {
      counts: ({ metadata, ...slice }, { metadata: before, ...old }) =>
        !deepEqual(slice, old) || !deepEqual(metadata.labels ?? {}, before.labels ?? {}),
    },
    columns: [
      { name: "AddressType", type: "string", doc: "Kind of the addresses.", value: ({ addressType }) => addressType },
      { name: "Ports", type: "string", doc: "Ports of the endpoints.", value: ({ ports }) => portsText(ports ?? []) },
      {
        name: "Endpoints",
        type: "string",
        doc: "Addresses of the endpoints.",
        value: ({ endpoints }) =>
          firstThree(
            (endpoints ?? []).flatMap(({ addresses }) => addresses),
            "<unset>",
          ),
      },
    ],
    validate: ({ addressType, endpoints: backends, ports: served }) => {
      const [endpoints, ports] = [backends ?? [], served ?? []]
      return [
        ...(endpoints.length > MAX_ENDPOINTS
          ? [tooMany("endpoints", endpoints.length, MAX_ENDPOINTS)]
          : endpoints.flatMap((endpoint, i) => endpointFaults(endpoint, at("endpoints", i), addressType))),
        ...(ports.length > MAX_PORTS ? [tooMany("ports", ports.length, MAX_PORTS)] : portFaults(ports)),
      ]
    },
  },
  fields,
)

function endpointFaults(endpoint: Endpoint, here: string, addressType: EndpointSlice["addressType"]): readonly Cause[] {
  const causes: Cause[] = []
  const fault = (field: string, value: unknown, wrong: Problem | undefined) =>
    void causes.push(...invalidValues(field, value, wrong))
  const { addresses, hostname, nodeName, hints } = endpoint
  if (addresses.length === 0) causes.push(required(at(here, "addresses"), "must contain at least 1 address"))
  if (addresses.length > MAX_ADDRESSES) causes.push(tooMany(at(here, "addresses"), addresses.length, MAX_ADDRESSES))
  for (const [i, address] of addresses.entries())
    fault(at(here, "addresses", i), address, addressFault(address, addressType))
  if (nodeName !== undefined) fault(at(here, "nodeName"), nodeName, isDNS1123Subdomain(nodeName))
  const topology = Object.entries(endpoint.deprecatedTopology ?? {})
  if (topology.length > 16) causes.push(tooMany(at(here, "deprecatedTopology"), topology.length, 16))
  for (const [key, value] of topology) {
    fault(at(here, "deprecatedTopology"), key, isQualifiedName(key))
    fault(`${at(here, "deprecatedTopology")}[${key}]`, value, isLabelValue(value))
  }
  if (hostname !== undefined) fault(at(here, "hostname"), hostname, isDNS1123Label(hostname))
  causes.push(
    ...hintFaults(hints?.forZones ?? [], at(here, "hints", "forZones"), isLabelValue),
    ...hintFaults(hints?.forNodes ?? [], at(here, "hints", "forNodes"), isDNS1123Subdomain),
  )
  return causes
}

function addressFault(address: string, addressType: EndpointSlice["addressType"]): Problem | undefined {
  if (addressType === "FQDN") return isFullyQualifiedDomainName(address)
  const wrong = isIPAddress(address)
  if (wrong !== undefined) return wrong
  if (address.includes(":") !== (addressType === "IPv6"))
    return addressType === "IPv6" ? "must be an IPv6 address" : "must be an IPv4 address"
  return specialAddress(address)
}

function hintFaults(hints: readonly { readonly name: string }[], here: string, check: Check): readonly Cause[] {
  if (hints.length > MAX_HINTS) return [tooMany(here, hints.length, MAX_HINTS)]
  return hints.flatMap(({ name }, i) => {
    if (name === "") return [required(at(here, i, "name"))]
    if (hints.findIndex((other) => other.name === name) !== i) return [duplicate(at(here, i, "name"), name)]
    return invalidValues(at(here, i, "name"), name, check(name))
  })
}

function portFaults(ports: readonly EndpointPort[]): readonly Cause[] {
  const names = new Set<string>()
  return ports.flatMap(({ name, port, appProtocol }, i) => {
    const here = at("ports", i)
    const causes: Cause[] = []
    if (name.length > 63) causes.push(tooLong(at(here, "name"), 63))
    if (name !== "") causes.push(...invalidValues(at(here, "name"), name, isDNS1123Label(name)))
    if (names.has(name)) causes.push(duplicate(at(here, "name"), name))
    names.add(name)
    if (port !== undefined) causes.push(...invalidValues(at(here, "port"), port, inRange(port, 1, 65535)))
    if (appProtocol !== undefined)
      causes.push(...invalidValues(at(here, "appProtocol"), appProtocol, isQualifiedName(appProtocol)))
    return causes
  })
}

const portsText = (ports: readonly EndpointPort[]): string =>
  firstThree(
    ports.map(({ port, name }) => String(port ?? name ?? "*")),
    "<unset>",
  )

/** The first three, and how many more there are. */
function firstThree(all: readonly string[], none: string): string {
  if (all.length === 0) return none
  return all.length > 3 ? `${all.slice(0, 3).join(",")} + ${all.length - 3} more...` : all.join(",")
}
