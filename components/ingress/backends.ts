import { joinHostPort } from "../../pkg/apimachinery/addresses/cidr.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice, portOf, serviceKeyOf } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { isGlobalUnicast } from "../../pkg/apimachinery/addresses/global-unicast.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import type { Index, Informer, Key } from "../../pkg/client/informer.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { Picked } from "./proxy/backend-parts.ts"
import type { BackendProtocol, Endpoint } from "./messages/messages.ts"
import type { BackendRef } from "./routing/target.ts"
import { stickyEndpoint } from "./sticky-endpoint.ts"

const byService: Index<EndpointSlice> = { name: "ingress/service", of: (slice) => [serviceKeyOf(slice)] }

/** The endpoints of one port of a Service. */
interface Backend {
  readonly endpoints: readonly Endpoint[]
  readonly protocol: BackendProtocol
  /** A client stays with an endpoint: `sessionAffinity: ClientIP`. */
  readonly isSticky: boolean
  /** The index of the next endpoint. */
  next: number
}

/** The Services and EndpointSlices that a node knows, and how their changes are followed. */
export interface BackendObjects {
  of<T extends KubeObject>(resource: Resource<T>): Pick<Informer<T>, "get" | "by" | "on">
}

export interface BackendsParts {
  readonly informers: BackendObjects
  readonly random: Random
  /**
   * Whether an address and port of this machine belong to the API server or the proxy itself, to which no request may
   * be sent.
   */
  readonly isOwn: (address: string, port: number) => boolean
}

/**
 * The protocol to endpoints, by the `appProtocol` of the Service port in lower case. Sources: KEP-3726, and RFC 6335
 * for IANA's service names, which ignore case.
 */
const PROTOCOLS: ReadonlyMap<string, BackendProtocol> = new Map([
  ["http", "http1"],
  ["kubernetes.io/ws", "http1"],
  ["https", "https1"],
  ["kubernetes.io/wss", "https1"],
  ["kubernetes.io/h2c", "h2c"],
])
/** The protocol with the same TLS over HTTP/2. */
const OVER_HTTP2 = { http1: "h2c", https1: "h2", h2c: "h2c", h2: "h2" } as const

/**
 * Finds the endpoints of Services in EndpointSlices, when a request needs them. Requests are distributed round-robin,
 * or by client when the Service has session affinity.
 */
export class Backends {
  readonly #parts: BackendsParts
  /** By Service, and then by port. */
  readonly #known = new Map<Key, Map<string | number, Backend>>()
  readonly #off: readonly (() => void)[]

  constructor(parts: BackendsParts) {
    this.#parts = parts
    const forget = (key: Key) => void this.#known.delete(key)
    const ofService = ({ metadata }: Service) => forget(`${metadata.namespace}/${metadata.name}`)
    const ofSlice = (slice: EndpointSlice) => forget(serviceKeyOf(slice))
    this.#off = [
      parts.informers.of(Service).on({ added: ofService, updated: ofService, deleted: ofService }),
      parts.informers.of(EndpointSlice).on({
        added: ofSlice,
        deleted: ofSlice,
        updated(slice, old) {
          ofSlice(old)
          ofSlice(slice)
        },
      }),
    ]
  }

  /** Returns the next endpoint for a client that is not in `tried`; undefined when there is none. */
  pick(ref: BackendRef, tried: readonly Endpoint[], client: string): Picked | undefined {
    const backend = this.#backendOf(ref)
    const { endpoints, isSticky } = backend
    const protocol = ref.http2 === true ? OVER_HTTP2[backend.protocol] : backend.protocol
    if (isSticky) {
      const endpoint = stickyEndpoint(client, endpoints, tried)
      return endpoint === undefined ? undefined : { endpoint, protocol }
    }
    for (let i = 0; i < endpoints.length; i++) {
      const endpoint = endpoints[backend.next % endpoints.length]!
      backend.next = (backend.next + 1) % endpoints.length
      if (!tried.some(({ key }) => key === endpoint.key)) return { endpoint, protocol }
    }
    return undefined
  }

  stop(): void {
    for (const off of this.#off) off()
    this.#known.clear()
  }

  #backendOf(ref: BackendRef): Backend {
    const key = `${ref.namespace}/${ref.service}`
    let ports = this.#known.get(key)
    if (ports === undefined) this.#known.set(key, (ports = new Map()))
    let backend = ports.get(ref.port)
    if (backend === undefined) ports.set(ref.port, (backend = this.#workedOut(key, ref.port)))
    return backend
  }

  #workedOut(key: Key, wanted: string | number): Backend {
    const { informers, random, isOwn } = this.#parts
    const service = informers.of(Service).get(key)
    const port = service?.spec.ports?.find(
      (one) => one.protocol === "TCP" && (one.name === wanted || one.port === wanted),
    )
    const slices = informers.of(EndpointSlice).by(byService, key)
    const isReachable = ({ address, port }: Endpoint) => isGlobalUnicast(address) && !isOwn(address, port)
    // A pod with both families is one endpoint: at its address of the Service's first family that has endpoints.
    const endpoints =
      port === undefined || service!.spec.type === "ExternalName"
        ? []
        : ((service!.spec.ipFamilies ?? [])
            .map((family) =>
              endpointsOf(
                port.name ?? "",
                slices.filter(({ addressType }) => addressType === family),
              ).filter(isReachable),
            )
            .find((all) => all.length > 0) ?? [])
    return {
      endpoints,
      protocol: PROTOCOLS.get(port?.appProtocol?.toLowerCase() ?? "") ?? "http1",
      // Source of the exception: `spec.SessionAffinity is ignored for headless services`, a warning of the API.
      isSticky: service?.spec.sessionAffinity === "ClientIP" && service.spec.clusterIP !== "None",
      // Starts at a random endpoint, since the first one would otherwise get the first request after each change.
      next: endpoints.length === 0 ? 0 : Math.floor(random.next() * endpoints.length),
    }
  }
}

/** Returns the ready endpoints; when none is ready, those that still serve while they terminate (KEP-1669). */
function endpointsOf(portName: string, slices: readonly EndpointSlice[]): readonly Endpoint[] {
  const ready = new Map<string, Endpoint>()
  const ending = new Map<string, Endpoint>()
  for (const slice of slices) {
    const port = portOf(slice, { name: portName, protocol: "TCP" })
    if (port === undefined) continue
    for (const { addresses, conditions } of slice.endpoints ?? []) {
      const [address] = addresses
      if (address === undefined) continue
      const key = joinHostPort(address, port)
      if (conditions?.ready !== false) ready.set(key, { address, port, key })
      else if (conditions.serving === true && conditions.terminating === true) ending.set(key, { address, port, key })
    }
  }
  return [...(ready.size > 0 ? ready : ending).values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}
