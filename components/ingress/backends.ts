import { joinHostPort } from "../../pkg/apimachinery/cidr.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice, serviceKeyOf } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { isGlobalUnicast } from "../../pkg/apimachinery/global-unicast.ts"
import type { Index, Informers, Key } from "../../pkg/client/informer.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { Picked } from "./proxy/exchange.ts"
import type { BackendProtocol, Endpoint } from "./proxy/messages.ts"
import type { BackendRef } from "./routing/target.ts"
import { stickyEndpoint } from "./sticky-endpoint.ts"

const byService: Index<EndpointSlice> = { name: "ingress/service", of: (slice) => [serviceKeyOf(slice)] }

/** The endpoints of one port of a Service. */
interface Backend {
  readonly endpoints: readonly Endpoint[]
  /** Undefined where the port of the Service does not say. */
  readonly protocol: BackendProtocol | undefined
  /** A client stays with an endpoint: `sessionAffinity: ClientIP`. */
  readonly isSticky: boolean
  /** Index of the endpoint whose turn it is. */
  next: number
}

export interface BackendsParts {
  readonly informers: Informers
  readonly random: Random
  /** Addresses of this machine with ports that no request may be sent to: the API server's and the proxy's own. */
  readonly isOwn: (address: string, port: number) => boolean
}

/**
 * By `appProtocol` of a Service port in lower case, how its endpoints are spoken to. Source:
 * KEP-3726, and RFC 6335 for IANA's service names, which are the same in both cases.
 */
const PROTOCOLS: ReadonlyMap<string, BackendProtocol> = new Map([
  ["http", "http1"],
  ["kubernetes.io/ws", "http1"],
  ["https", "https1"],
  ["kubernetes.io/wss", "https1"],
  ["kubernetes.io/h2c", "h2c"],
])

/**
 * The endpoints behind Services, straight from EndpointSlices and worked out when a request asks for them. Requests are
 * spread over the endpoints in turn, or by client where the Service asks for affinity.
 */
export class Backends {
  readonly #parts: BackendsParts
  /** By Service, and by port. */
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

  /** The next endpoint for a client that is not among `tried`; undefined when there is none. */
  pick(ref: BackendRef, tried: readonly Endpoint[], client: string): Picked | undefined {
    const backend = this.#backendOf(ref)
    const { endpoints, protocol, isSticky } = backend
    const { protocol: unsaid = "http1" } = ref
    if (isSticky) {
      const endpoint = stickyEndpoint(client, endpoints, tried)
      return endpoint === undefined ? undefined : { endpoint, protocol: protocol ?? unsaid }
    }
    for (let i = 0; i < endpoints.length; i++) {
      const endpoint = endpoints[backend.next % endpoints.length]!
      backend.next = (backend.next + 1) % endpoints.length
      if (!tried.some(({ key }) => key === endpoint.key)) return { endpoint, protocol: protocol ?? unsaid }
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
    const endpoints =
      port === undefined || service!.spec.type === "ExternalName"
        ? []
        : endpointsOf(port.name ?? "", slices).filter(isReachable)
    return {
      endpoints,
      protocol: PROTOCOLS.get(port?.appProtocol?.toLowerCase() ?? ""),
      // Source of the exception: `spec.SessionAffinity is ignored for headless services`, a warning of the API.
      isSticky: service?.spec.sessionAffinity === "ClientIP" && service.spec.clusterIP !== "None",
      // Not always the first, which would get the first request after each change.
      next: endpoints.length === 0 ? 0 : Math.floor(random.next() * endpoints.length),
    }
  }
}

/** Ready endpoints; when none is, those that still serve while they end (KEP-1669). */
function endpointsOf(portName: string, slices: readonly EndpointSlice[]): readonly Endpoint[] {
  const ready = new Map<string, Endpoint>()
  const ending = new Map<string, Endpoint>()
  for (const { ports, endpoints } of slices) {
    const port = ports?.find(({ name = "", protocol = "TCP" }) => name === portName && protocol === "TCP")?.port
    if (port === undefined) continue
    for (const { addresses, conditions } of endpoints ?? []) {
      const [address] = addresses
      if (address === undefined) continue
      const key = joinHostPort(address, port)
      if (conditions?.ready !== false) ready.set(key, { address, port, key })
      else if (conditions.serving === true && conditions.terminating === true) ending.set(key, { address, port, key })
    }
  }
  return [...(ready.size > 0 ? ready : ending).values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}
