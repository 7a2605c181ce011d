import { canonicalAddress, familyOf, joinHostPort, parseAddress, type Family } from "../../pkg/apimachinery/cidr.ts"
import type { Service } from "../../pkg/api/core/v1/service/service.ts"
import { SERVICE_NAME, type EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { categorize, type Candidate, type Place } from "./topology.ts"

/** Where a connection to a Service port may end. */
export interface Endpoint {
  readonly ip: string
  readonly port: number
  /** On this node. */
  readonly local: boolean
}

/** One port of one Service with all that rules of one family are made of; addresses are in their canonical form. Source: pkg/proxy/serviceport.go, topology.go. */
export interface ServicePort {
  /** `namespace/name:port`, as it stands in rule comments. */
  readonly name: string
  readonly family: Family
  readonly protocol: "tcp" | "udp" | "sctp"
  readonly clusterIp: string
  readonly port: number
  readonly nodePort: number | undefined
  readonly externalIps: readonly string[]
  readonly loadBalancerIps: readonly string[]
  readonly sourceRanges: readonly string[]
  /** Seconds for which a client stays with an endpoint. */
  readonly affinitySeconds: number | undefined
  readonly internalLocal: boolean
  readonly externalLocal: boolean
  readonly healthCheckNodePort: number | undefined
  /** Endpoints for traffic that may go to any node. */
  readonly cluster: readonly Endpoint[]
  /** Endpoints for traffic that must stay on this node; they need not be among those of `cluster`. */
  readonly local: readonly Endpoint[]
}

/** Every endpoint to which traffic may go from this node. */
export const endpointsOf = ({ cluster, local }: ServicePort): readonly Endpoint[] => [
  ...new Map([...cluster, ...local].map((endpoint) => [joinHostPort(endpoint.ip, endpoint.port), endpoint])).values(),
]

const PROXY_NAME = "service.kubernetes.io/service-proxy-name"
const HEADLESS = "service.kubernetes.io/headless"

/** Is the slice one that a proxy of the family acts on? */
export const concerns = ({ metadata, addressType }: EndpointSlice, family: Family): boolean =>
  addressType === family &&
  metadata.labels?.[SERVICE_NAME] !== undefined &&
  metadata.labels[PROXY_NAME] === undefined &&
  metadata.labels[HEADLESS] === undefined

/**
 * The ports of a Service that the proxy of a family programs, with `slices` of that family; none for Services without
 * an address of the family, headless ones, ExternalName and those of another proxy.
 */
export function servicePorts(
  service: Service,
  slices: readonly EndpointSlice[],
  family: Family,
  place: Place,
): readonly ServicePort[] {
  const { spec, metadata, status } = service
  const [clusterIp] = addressesOf(spec.clusterIPs ?? [spec.clusterIP ?? ""], family)
  if (clusterIp === undefined || spec.type === "ExternalName" || metadata.labels?.[PROXY_NAME] !== undefined) return []
  const outside = spec.type === "NodePort" || spec.type === "LoadBalancer"
  return (spec.ports ?? []).map((port) => {
    const candidates = candidatesOf(port.name ?? "", port.protocol, slices, place.nodeName)
    const { cluster, local } = categorize(candidates, place)
    return {
      name: `${metadata.namespace}/${metadata.name}${port.name ? `:${port.name}` : ""}`,
      family,
      protocol: port.protocol.toLowerCase() as ServicePort["protocol"],
      clusterIp,
      port: port.port,
      nodePort: outside && port.nodePort ? port.nodePort : undefined,
      externalIps: addressesOf(spec.externalIPs ?? [], family),
      loadBalancerIps: addressesOf(
        (status.loadBalancer.ingress ?? []).flatMap(({ ip, ipMode }) => (ipMode === "Proxy" ? [] : (ip ?? []))),
        family,
      ),
      // Ranges of the other family say nothing about ours.
      sourceRanges: (spec.loadBalancerSourceRanges ?? [])
        .map((range) => range.trim())
        .filter((range) => familyOf(range) === family),
      affinitySeconds:
        spec.sessionAffinity === "ClientIP"
          ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800)
          : undefined,
      internalLocal: spec.internalTrafficPolicy === "Local",
      externalLocal: spec.externalTrafficPolicy === "Local",
      healthCheckNodePort: spec.externalTrafficPolicy === "Local" ? spec.healthCheckNodePort : undefined,
      cluster,
      local,
    }
  })
}

/** The addresses of the family, each once: what is written in two ways would be two entries for one key. */
const addressesOf = (texts: readonly string[], family: Family): readonly string[] => [
  ...new Set(texts.filter((text) => parseAddress(text)?.family === family).map(canonicalAddress)),
]

/** Sorted, so that equal sets give equal rules. */
function candidatesOf(
  name: string,
  protocol: string,
  slices: readonly EndpointSlice[],
  nodeName: string,
): readonly Candidate[] {
  const found = new Map<string, Candidate>()
  for (const { ports, endpoints } of slices) {
    const port = ports?.find((each) => (each.name ?? "") === name && (each.protocol ?? "TCP") === protocol)?.port
    if (port === undefined) continue
    for (const { addresses, conditions, nodeName: on, hints } of endpoints ?? []) {
      const [address] = addresses
      if (address === undefined) continue
      const ip = canonicalAddress(address)
      const isReady = conditions?.ready !== false
      const key = joinHostPort(ip, port)
      // While a pod's endpoint moves from one slice to another it is in both.
      if (found.get(key)?.isReady === true) continue
      found.set(key, {
        ip,
        port,
        local: on === nodeName,
        isReady,
        isEnding: !isReady && conditions.serving === true && conditions.terminating === true,
        zones: (hints?.forZones ?? []).map((zone) => zone.name),
        nodes: (hints?.forNodes ?? []).map((node) => node.name),
      })
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, candidate]) => candidate)
}
