import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  eachWithin,
  invalidValue,
  invalidValues,
  required,
  tooMany,
} from "../../../apimachinery/validation/field-errors.ts"
import {
  type Check,
  isCanonicalIPAddress,
  isDNS1123Label,
  isDNS1123Subdomain,
  isFullyQualifiedDomainName,
  isIPAddress,
  isLabelValue,
  isQualifiedName,
} from "../../../apimachinery/validation/names.ts"
import { validateLabels } from "../../../apimachinery/validation/objectmeta.ts"
import { endpointAddressFaults } from "../../core/v1/service/endpointaddress.ts"
import type { Endpoint, EndpointPort } from "./endpoint.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * Validates endpoint slices. Source: pkg/apis/discovery/validation/validation.go and
 * pkg/registry/discovery/endpointslice/strategy.go.
 */

const MAX_ENDPOINTS = 1000
const MAX_ADDRESSES = 100
const MAX_PORTS = 20000
const MAX_HINTS = 8
const MAX_TOPOLOGY = 16
const HOSTNAME = "kubernetes.io/hostname"

/** The parts of an EndpointSlice that its rules read. */
interface Slice {
  readonly addressType: "IPv4" | "IPv6" | "FQDN"
  readonly endpoints?: readonly Endpoint[] | null | undefined
}

/**
 * Removes the deprecated topology of endpoints, which clients of v1 cannot set. If it has named the node before, the
 * name of the node is kept. Source: dropTopologyOnV1.
 */
export function withoutTopology<S extends Slice>(slice: S, old: Slice | undefined): S {
  if (slice.endpoints?.some((endpoint) => endpoint.deprecatedTopology !== undefined) !== true) return slice
  if (old !== undefined && deepEqual(slice.endpoints, old.endpoints)) return slice
  const known = new Set(old?.endpoints?.map((endpoint) => endpoint.deprecatedTopology?.[HOSTNAME]))
  const endpoints = slice.endpoints.map((endpoint) => {
    const { deprecatedTopology: topology, ...rest } = endpoint
    const node = topology?.[HOSTNAME]
    const kept = rest.nodeName === undefined && node !== undefined && known.has(node) && !isDNS1123Subdomain(node)
    return kept ? { ...rest, nodeName: node } : rest
  })
  return { ...slice, endpoints }
}

export function endpointListFaults({ addressType, endpoints: given }: Slice): readonly Cause[] {
  const endpoints = given ?? []
  if (endpoints.length > MAX_ENDPOINTS) return [tooMany("endpoints", endpoints.length, MAX_ENDPOINTS)]
  const causes: Cause[] = []
  eachWithin(causes, endpoints, "endpoints", (endpoint) => endpointFaults(endpoint, addressType))
  return causes
}

function endpointFaults(endpoint: Endpoint, addressType: Slice["addressType"]): readonly Cause[] {
  const { addresses, hostname, nodeName, hints, deprecatedTopology: topology } = endpoint
  const causes: Cause[] = []
  if (addresses.length === 0) causes.push(required("addresses", "must contain at least 1 address"))
  else if (addresses.length > MAX_ADDRESSES) causes.push(tooMany("addresses", addresses.length, MAX_ADDRESSES))
  for (let i = 0; i < addresses.length; i++)
    pushAll(causes, addressFaults(addresses[i]!, at("addresses", i), addressType))
  if (nodeName !== undefined) pushAll(causes, invalidValues("nodeName", nodeName, isDNS1123Subdomain(nodeName)))
  if (topology !== undefined) {
    const count = Object.keys(topology).length
    if (count > MAX_TOPOLOGY) causes.push(tooMany("deprecatedTopology", count, MAX_TOPOLOGY))
    pushAll(causes, validateLabels(topology, "deprecatedTopology"))
  }
  if (hostname !== undefined) pushAll(causes, invalidValues("hostname", hostname, isDNS1123Label(hostname)))
  if (hints !== undefined) pushAll(causes, hintsFaults(hints))
  return causes
}

function addressFaults(address: string, path: string, addressType: string): readonly Cause[] {
  if (addressType === "FQDN")
    return address === "" ? [required(path)] : invalidValues(path, address, isFullyQualifiedDomainName(address))
  if (addressType !== "IPv4" && addressType !== "IPv6") return []
  const wrong = (addressType === "IPv6" ? isCanonicalIPAddress : isIPAddress)(address)
  if (wrong !== undefined) return invalidValues(path, address, wrong)
  const special = endpointAddressFaults(address, path)
  // Upstream gives the path of the list here, and not of the item.
  return address.includes(":") === (addressType === "IPv6")
    ? special
    : [invalidValue("addresses", address, `must be an ${addressType} address`), ...special]
}

/** Validates hints. When there are too many zones, upstream does not check the nodes. */
function hintsFaults({ forZones = [], forNodes = [] }: NonNullable<Endpoint["hints"]>): readonly Cause[] {
  return forZones.length > MAX_HINTS
    ? [tooMany("hints.forZones", forZones.length, MAX_HINTS)]
    : [
        ...hintFaults(forZones, "hints.forZones", isLabelValue),
        ...hintFaults(forNodes, "hints.forNodes", isDNS1123Subdomain),
      ]
}

function hintFaults(
  hints: readonly { readonly name?: string | undefined }[],
  path: string,
  check: Check,
): readonly Cause[] {
  if (hints.length > MAX_HINTS) return [tooMany(path, hints.length, MAX_HINTS)]
  return hints.flatMap(({ name = "" }, i) => {
    const field = at(path, i, "name")
    const twice = hints.findIndex((other) => (other.name ?? "") === name) !== i
    return [...(twice ? [duplicate(field, name)] : []), ...invalidValues(field, name, check(name))]
  })
}

export function portListFaults(ports: readonly EndpointPort[]): readonly Cause[] {
  if (ports.length > MAX_PORTS) return [tooMany("ports", ports.length, MAX_PORTS)]
  const names = new Set<string>()
  return ports.flatMap(({ name, appProtocol }, i) => {
    const causes: Cause[] = []
    if (name !== "") pushAll(causes, invalidValues(at("ports", i, "name"), name, isDNS1123Label(name)))
    if (names.has(name)) causes.push(duplicate(at("ports", i, "name"), name))
    names.add(name)
    if (appProtocol !== undefined)
      pushAll(causes, invalidValues(at("ports", i, "appProtocol"), appProtocol, isQualifiedName(appProtocol)))
    return causes
  })
}
