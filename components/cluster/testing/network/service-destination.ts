import { Service } from "../../../../pkg/api/core/v1/service/service.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { EndpointSlice, serviceKeyOf } from "../../../../pkg/api/discovery/v1/endpointslice.ts"
import { canonicalAddress, familyOf, joinHostPort } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { keyFrom, type Index, type Listers } from "../../../../pkg/client/informer.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../pkg/clock/random.ts"
import { OutsideAddresses } from "../../../../pkg/component/outside-addresses.ts"
import { concerns, servicePorts, type ServicePort } from "../../../kube-proxy/service-ports.ts"
import type { Endpoint } from "../../../kube-proxy/topology.ts"

/** Where a connection goes after the rules of kube-proxy. */
export type Destination =
  | { readonly kind: "to"; readonly host: string; readonly port: number; readonly through: Through | undefined }
  | { readonly kind: "refused" | "dropped"; readonly why: string }

/** The Service that the connection goes through. */
export interface Through {
  /** In words, such as `Service default/web`. */
  readonly service: string
  /** Whether the endpoint sees the address of the node instead of that of the client. */
  readonly isMasqueraded: boolean
}

export interface Dialled {
  readonly host: string
  readonly port: number
  /** The address of the client, by which sessions stay at an endpoint. */
  readonly client: string
  /** Whether the client is a pod or a node of the cluster. */
  readonly isInside: boolean
}

const bySlice: Index<EndpointSlice> = { name: "testing/service", of: (slice) => [serviceKeyOf(slice)] }
const byClusterIp: Index<Service> = {
  name: "testing/cluster-ip",
  of: ({ spec }) => (spec.clusterIPs ?? []).filter((ip) => ip !== "None").map(canonicalAddress),
}
const byOutsideIp: Index<Service> = {
  name: "testing/outside-ip",
  of: ({ spec, status }) =>
    [...(spec.externalIPs ?? []), ...(status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? [])].map(
      canonicalAddress,
    ),
}
const byNodePort: Index<Service> = {
  name: "testing/node-port",
  of: ({ spec }) => (spec.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [String(nodePort)] : [])),
}

/** Source: k8s.io/api core/v1 well_known_labels.go. */
const ZONE = "topology.kubernetes.io/zone"

/** What the rules of the nodes' kube-proxies do with new connections, by the code that writes those rules. */
export class ServiceProxy {
  readonly #random: Random
  readonly #clock: Pick<Clock, "monotonic">
  /** The endpoint with which a client stays, and since when it has not asked, by node, Service port and client. */
  readonly #sessions = new Map<string, { readonly endpoint: string; readonly at: number }>()

  constructor({ random, clock }: { readonly random: Random; readonly clock: Pick<Clock, "monotonic"> }) {
    this.#random = random
    this.#clock = clock
  }

  /**
   * Returns where a connection to an address of a Service goes from a node, whose kube-proxy has the rules of `known`;
   * undefined when the address is not that of a Service.
   */
  ofAddress(dialled: Dialled, node: string | undefined, known: Listers): Destination | undefined {
    const ip = canonicalAddress(dialled.host)
    const [inside] = known.of(Service).by(byClusterIp, ip)
    if (inside !== undefined && dialled.isInside) {
      const port = this.#portsOf(inside, ip, node, known).find((one) => isTcp(one) && one.port === dialled.port)
      if (port === undefined)
        return { kind: "refused", why: `Service ${keyFrom(inside.metadata)} has no port ${dialled.port}` }
      return this.#choose(port, port.internalLocal, dialled, node, false)
    }
    for (const service of known.of(Service).by(byOutsideIp, ip)) {
      const port = this.#portsOf(service, ip, node, known).find(
        (one) => isTcp(one) && one.port === dialled.port && [...one.externalIps, ...one.loadBalancerIps].includes(ip),
      )
      if (port !== undefined) return this.#fromOutside(port, dialled, node)
    }
    return undefined
  }

  /** Returns the same for a port of a node; undefined when no Service has it. */
  ofNodePort(dialled: Dialled, node: string, known: Listers): Destination | undefined {
    for (const service of known.of(Service).by(byNodePort, String(dialled.port))) {
      const port = this.#portsOf(service, dialled.host, node, known).find(
        (one) => isTcp(one) && one.nodePort === dialled.port,
      )
      if (port !== undefined) return this.#fromOutside(port, dialled, node)
    }
    return undefined
  }

  /** A client of the cluster reaches all endpoints also where those from outside reach only the ones of the node. */
  #fromOutside(port: ServicePort, dialled: Dialled, node: string | undefined): Destination {
    const isLocal = port.externalLocal && !dialled.isInside
    return this.#choose(port, isLocal, dialled, node, !isLocal)
  }

  #choose(
    port: ServicePort,
    isLocal: boolean,
    { client }: Dialled,
    node: string | undefined,
    isMasqueraded: boolean,
  ): Destination {
    const service = `Service ${port.name}`
    const endpoints = isLocal ? port.local : port.cluster
    if (endpoints.length === 0)
      return port.cluster.length === 0
        ? { kind: "refused", why: `${service} has no endpoints` }
        : { kind: "dropped", why: `${service} has no endpoints on node ${node}` }
    const { ip, port: number } = this.#endpoint(port, endpoints, `${node} ${port.name} ${client}`)
    return { kind: "to", host: ip, port: number, through: { service, isMasqueraded } }
  }

  #endpoint({ affinitySeconds }: ServicePort, endpoints: readonly Endpoint[], session: string): Endpoint {
    const keyOf = ({ ip, port }: Endpoint) => joinHostPort(ip, port)
    const now = this.#clock.monotonic()
    const last = affinitySeconds === undefined ? undefined : this.#sessions.get(session)
    const same =
      last !== undefined && now - last.at < affinitySeconds! * 1000
        ? endpoints.find((endpoint) => keyOf(endpoint) === last.endpoint)
        : undefined
    const chosen = same ?? endpoints[Math.floor(this.#random.next() * endpoints.length)]!
    if (affinitySeconds !== undefined) this.#sessions.set(session, { endpoint: keyOf(chosen), at: now })
    return chosen
  }

  #portsOf(service: Service, ip: string, node: string | undefined, known: Listers): readonly ServicePort[] {
    const family = familyOf(ip)
    const slices = known
      .of(EndpointSlice)
      .by(bySlice, keyFrom(service.metadata))
      .filter((slice) => concerns(slice, family))
    const zone = node === undefined ? undefined : known.of(Node).get(node)?.metadata.labels?.[ZONE]
    return servicePorts(service, slices, family, { nodeName: node ?? "", zone }, new OutsideAddresses(known))
  }
}

const isTcp = ({ protocol }: ServicePort): boolean => protocol === "tcp"
