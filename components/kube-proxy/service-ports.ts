import {
  canonicalAddress,
  familyOf,
  joinHostPort,
  parseAddress,
  type Family,
} from "../../pkg/apimachinery/addresses/cidr.ts"
import { finished } from "../../pkg/apimachinery/finished.ts"
import type { Service } from "../../pkg/api/core/v1/service/service.ts"
import { portOf, SERVICE_NAME, type EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { OutsideAddresses } from "../../pkg/component/outside-addresses.ts"
import { categorize, type Candidate, type Place } from "./topology.ts"
import type { Endpoint } from "./topology.ts"

/**
 * One port of a Service, with all that the rules of one family need; addresses are in canonical form. Source:
 * pkg/proxy/serviceport.go, topology.go.
 */
export interface ServicePort {
  /** `namespace/name:port`, as in the comments of rules. */
  readonly name: string
  readonly family: Family
  readonly protocol: "tcp" | "udp" | "sctp"
  readonly clusterIp: string
  readonly port: number
  readonly nodePort: number | undefined
  readonly externalIps: readonly string[]
  readonly loadBalancerIps: readonly string[]
  readonly sourceRanges: readonly string[]
  /** The seconds for which a client stays with an endpoint. */
  readonly affinitySeconds: number | undefined
  readonly internalLocal: boolean
  readonly externalLocal: boolean
  readonly healthCheckNodePort: number | undefined
  /** Addresses of the ready endpoints on this node. */
  readonly readyHere: readonly string[]
  /** Endpoints for traffic that may go to any node. */
  readonly cluster: readonly Endpoint[]
  /** Endpoints for traffic that must stay on this node; they need not be among those of `cluster`. */
  readonly local: readonly Endpoint[]
}

/** Returns every endpoint to which traffic may go from this node. */
export const endpointsOf = ({ cluster, local }: ServicePort): readonly Endpoint[] => [
  ...new Map([...cluster, ...local].map((endpoint) => [joinHostPort(endpoint.ip, endpoint.port), endpoint])).values(),
]

/**
 * The most pairs of an address at which a Service is reached and an endpoint, over all ports. Differs from upstream,
 * which writes all: an object of 1.5 MB can have 30,000 ports and 30,000 external addresses.
 */
export const MOST_ENTRIES = 100_000

const PROXY_NAME = "service.kubernetes.io/service-proxy-name"
const HEADLESS = "service.kubernetes.io/headless"

/** Whether the proxy of a family handles the slice. */
export const concerns = ({ metadata, addressType }: EndpointSlice, family: Family): boolean =>
  addressType === family &&
  metadata.labels?.[SERVICE_NAME] !== undefined &&
  metadata.labels[PROXY_NAME] === undefined &&
  metadata.labels[HEADLESS] === undefined

/**
 * Returns the ports of a Service that the proxy of a family programs, with `slices` of that family; none for Services
 * without an address of the family, headless ones, ExternalName and those of another proxy. Addresses outside of the
 * cluster that belong to somebody else are left out: see `OutsideAddresses`. `limited` is called with the number of
 * ports that are left out because those before them have `MOST_ENTRIES`.
 */
export const servicePorts = (...input: Parameters<typeof makingServicePorts>): readonly ServicePort[] =>
  finished(makingServicePorts(...input))

/** Does the work of `servicePorts` in steps. */
export function* makingServicePorts(
  service: Service,
  slices: readonly EndpointSlice[],
  family: Family,
  place: Place,
  addresses: Pick<OutsideAddresses, "externalProblem" | "clusterProblem">,
  limited: (leftOut: number) => void = () => undefined,
): Generator<void, readonly ServicePort[]> {
  const { spec, metadata, status } = service
  const [clusterIp] = addressesOf(spec.clusterIPs ?? [spec.clusterIP ?? ""], family)
  if (clusterIp === undefined || spec.type === "ExternalName" || metadata.labels?.[PROXY_NAME] !== undefined) return []
  const outside = spec.type === "NodePort" || spec.type === "LoadBalancer"
  const externalIps: string[] = []
  for (const ip of addressesOf(spec.externalIPs ?? [], family)) {
    if (addresses.externalProblem(ip) === undefined) externalIps.push(ip)
    yield
  }
  const loadBalancerIps = addressesOf(
    (status.loadBalancer.ingress ?? []).flatMap(({ ip, ipMode }) => (ipMode === "Proxy" ? [] : (ip ?? []))),
    family,
  ).filter((ip) => addresses.clusterProblem(ip) === undefined)
  // Ranges of the other family do not matter here.
  const sourceRanges = (spec.loadBalancerSourceRanges ?? [])
    .map((range) => range.trim())
    .filter((range) => familyOf(range) === family)
  const ports = spec.ports ?? []
  const backends = slices.map(backendsOf)
  const found: ServicePort[] = []
  let entries = 0
  for (const port of ports) {
    const candidates = candidatesOf(port.name ?? "", port.protocol, backends, place.nodeName)
    const { cluster, local } = categorize(candidates, place)
    const entrances = 2 + externalIps.length + loadBalancerIps.length
    entries += entrances * Math.max(1, cluster.length + local.length) + sourceRanges.length
    if (entries > MOST_ENTRIES) {
      limited(ports.length - found.length)
      break
    }
    found.push({
      name: `${metadata.namespace}/${metadata.name}${port.name ? `:${port.name}` : ""}`,
      family,
      protocol: port.protocol.toLowerCase() as ServicePort["protocol"],
      clusterIp,
      port: port.port,
      nodePort: outside && port.nodePort ? port.nodePort : undefined,
      externalIps,
      loadBalancerIps,
      sourceRanges,
      affinitySeconds:
        spec.sessionAffinity === "ClientIP"
          ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800)
          : undefined,
      internalLocal: spec.internalTrafficPolicy === "Local",
      externalLocal: spec.externalTrafficPolicy === "Local",
      healthCheckNodePort: spec.externalTrafficPolicy === "Local" ? spec.healthCheckNodePort : undefined,
      readyHere: candidates.filter(({ isReady, local: isHere }) => isReady && isHere).map(({ ip }) => ip),
      cluster,
      local,
    })
    yield
  }
  return found
}

/**
 * Returns the distinct addresses of the family in canonical form: one address in two notations would be two entries for
 * one key.
 */
const addressesOf = (texts: readonly string[], family: Family): readonly string[] => [
  ...new Set(texts.filter((text) => parseAddress(text)?.family === family).map(canonicalAddress)),
]

/** A slice and its ports by protocol and name. */
interface Backends {
  readonly slice: EndpointSlice
  readonly ports: ReadonlyMap<string, NonNullable<EndpointSlice["ports"]>>
}

function backendsOf(slice: EndpointSlice): Backends {
  const ports = Map.groupBy(slice.ports ?? [], ({ name = "", protocol = "TCP" }) => `${protocol} ${name}`)
  return { slice, ports }
}

/** Returns the endpoints sorted, so that equal endpoints give equal rules. */
function candidatesOf(
  name: string,
  protocol: string,
  backends: readonly Backends[],
  nodeName: string,
): readonly Candidate[] {
  const found = new Map<string, Candidate>()
  for (const { slice, ports } of backends) {
    // One number that is no port would make nft and iptables refuse the rules of all Services.
    const port = portOf({ ports: ports.get(`${protocol} ${name}`) }, { name, protocol })
    if (port === undefined) continue
    for (const { addresses, conditions, nodeName: on, hints } of slice.endpoints ?? []) {
      const [address] = addresses
      if (address === undefined) continue
      const ip = canonicalAddress(address)
      const isReady = conditions?.ready !== false
      const key = joinHostPort(ip, port)
      // While the endpoint of a pod moves from one slice to another it is in both.
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
