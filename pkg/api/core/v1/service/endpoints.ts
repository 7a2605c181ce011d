import { joinHostPort } from "../../../../apimachinery/addresses/cidr.ts"
import { addressWarnings } from "../../../../apimachinery/addresses/address-warnings.ts"
import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, invalidValues, required } from "../../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import {
  inRange,
  isDNS1123Label,
  isDNS1123Subdomain,
  isIPAddress,
  isQualifiedName,
  type Problem,
} from "../../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import { endpointAddressFaults } from "./endpointaddress.ts"
import { ObjectReference } from "../reference.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Source: k8s.io/api core/v1/types.go, pkg/registry/core/endpoint/strategy.go, ValidateEndpoints in
 * pkg/apis/core/validation.
 */

export const EndpointAddress = message(
  "core.v1.EndpointAddress",
  "An address behind a Service.",
  {
    ip: f.string(1, "The address.").required().ownRule(),
    hostname: f.string(3, "Name of the endpoint in DNS."),
    nodeName: f.string(4, "Node that hosts the endpoint.").pointer(),
    targetRef: f.message(2, ObjectReference, "The object that provides the endpoint."),
  },
  { mapType: "atomic" },
)
export interface EndpointAddress extends ObjectOf<typeof EndpointAddress> {}

export const EndpointPort = message(
  "core.v1.EndpointPort",
  "A port behind a Service.",
  {
    name: f.string(1, "Name of the port, as the Service has it."),
    port: f.int32(2, "Number of the port.").required(),
    protocol: f.string(3, "Transport protocol.").default("TCP").enum("TCP", "UDP", "SCTP"),
    appProtocol: f.string(4, "What is spoken over the port, as a hint.").pointer(),
  },
  { mapType: "atomic" },
)
export interface EndpointPort extends ObjectOf<typeof EndpointPort> {}

export const EndpointSubset = message("core.v1.EndpointSubset", "Addresses that all have the same ports.", {
  addresses: f.list(1, EndpointAddress, "Addresses that are ready.").atomic(),
  notReadyAddresses: f.list(2, EndpointAddress, "Addresses that are not ready.").atomic(),
  ports: f.list(3, EndpointPort, "Ports of each address.").atomic(),
})
export interface EndpointSubset extends ObjectOf<typeof EndpointSubset> {}

const fields = {
  subsets: f.list(2, EndpointSubset, "Addresses and ports; all addresses of a subset have all its ports.").atomic(),
}
export interface Endpoints extends ObjectFor<typeof fields> {}

export const Endpoints = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Endpoints",
    plural: "endpoints",
    singular: "endpoints",
    shortNames: ["ep"],
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "The addresses behind a Service. EndpointSlices have taken their place.",
    columns: [
      {
        name: "Endpoints",
        type: "string",
        doc: "Addresses and ports that are ready.",
        value: ({ subsets = [] }) => endpointsText(subsets),
      },
    ],
    allowCreateOnUpdate: true,
    warnings: ({ metadata: { labels }, subsets = [] }) =>
      labels?.["endpoints.kubernetes.io/managed-by"] === "endpoint-controller"
        ? []
        : subsets.flatMap((subset, i) =>
            (["addresses", "notReadyAddresses"] as const).flatMap((list) =>
              (subset[list] ?? []).flatMap(({ ip }, j) => addressWarnings(`subsets[${i}].${list}[${j}].ip`, ip)),
            ),
          ),
    validate: ({ subsets = [] }, old) =>
      old !== undefined && deepEqual(subsets, old.subsets ?? [])
        ? []
        : subsets.flatMap((subset, i) => subsetFaults(subset, at("subsets", i))),
    deprecated: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  },
  fields,
)

function subsetFaults(subset: EndpointSubset, here: string): readonly Cause[] {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset
  return [
    ...(addresses.length === 0 && notReadyAddresses.length === 0
      ? [required(here, "must specify `addresses` or `notReadyAddresses`")]
      : []),
    ...addresses.flatMap((address, i) => addressFaults(address, at(here, "addresses", i))),
    ...notReadyAddresses.flatMap((address, i) => addressFaults(address, at(here, "notReadyAddresses", i))),
    ...ports.flatMap((port, i) => portFaults(port, at(here, "ports", i), ports.length > 1)),
  ]
}

function addressFaults(address: EndpointAddress, here: string): readonly Cause[] {
  const causes: Cause[] = []
  const fault = (field: string, value: string | undefined, wrong: Problem | undefined) =>
    pushAll(causes, invalidValues(at(here, field), value, wrong))
  const ip = address.ip
  fault("ip", ip, isIPAddress(ip))
  if (address.hostname) fault("hostname", address.hostname, isDNS1123Label(address.hostname))
  if (address.nodeName !== undefined) fault("nodeName", address.nodeName, isDNS1123Subdomain(address.nodeName))
  return [...causes, ...endpointAddressFaults(ip, at(here, "ip"))]
}

function portFaults(port: EndpointPort, here: string, named: boolean): readonly Cause[] {
  const causes: Cause[] = []
  const name = port.name ?? ""
  if (named && name === "") causes.push(required(at(here, "name")))
  else if (name !== "") pushAll(causes, invalidValues(at(here, "name"), name, isDNS1123Label(name)))
  pushAll(causes, invalidValues(at(here, "port"), port.port, inRange(port.port, 1, 65535)))
  if (port.appProtocol !== undefined)
    pushAll(causes, invalidValues(at(here, "appProtocol"), port.appProtocol, isQualifiedName(port.appProtocol)))
  return causes
}

/** Returns the first three addresses as `ip:port`, and how many more there are. */
function endpointsText(subsets: readonly EndpointSubset[]): string | undefined {
  // Each port is at each address: a subset of a megabyte has hundreds of millions of pairs.
  const count = subsets.reduce(
    (sum, { addresses = [], ports = [] }) => sum + addresses.length * Math.max(ports.length, 1),
    0,
  )
  if (count === 0) return undefined
  const first = pairsOf(subsets).take(MOST_SHOWN).toArray().join(",")
  return count > MOST_SHOWN ? `${first} + ${count - MOST_SHOWN} more...` : first
}
const MOST_SHOWN = 3

function* pairsOf(subsets: readonly EndpointSubset[]): Generator<string, undefined> {
  for (const { addresses = [], ports = [] } of subsets) {
    if (ports.length === 0) for (const { ip } of addresses) yield ip
    for (const { port } of ports) for (const { ip } of addresses) yield joinHostPort(ip, port)
  }
}
