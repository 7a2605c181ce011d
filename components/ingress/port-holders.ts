import { canonicalAddress } from "../../pkg/apimachinery/addresses/cidr.ts"
import type { Service } from "../../pkg/api/core/v1/service/service.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import type { Clock, Timer } from "../../pkg/clock/clock.ts"
import { smallest } from "../../pkg/lists/extremes.ts"

/** An open port, and how its owner can choose another one. */
export interface ServedPort {
  readonly port: number
  readonly mend: string
}

/** A Service that takes the requests to an open port. */
export interface PortFault {
  readonly port: number
  readonly message: string
}

/**
 * How long a Service must hold a port before that is reported: this program's load balancers release such ports at
 * once.
 */
const STANDS_MS = 2000
/** A Service with this label is handled by another proxy. */
const PROXY_NAME = "service.kubernetes.io/service-proxy-name"

/**
 * Returns, by port, the field of a Service because of which kube-proxy sends packets for this machine's addresses to
 * the Service.
 */
export function heldPorts(
  { metadata, spec, status }: Service,
  nodeIps: readonly string[],
): ReadonlyMap<number, { readonly field: string; readonly address: string }> {
  const own = new Set(nodeIps.map(canonicalAddress))
  const isOfNode = (ip: string | undefined): ip is string => ip !== undefined && own.has(canonicalAddress(ip))
  const external = (spec.externalIPs ?? []).find(isOfNode)
  const balanced = (status.loadBalancer.ingress ?? []).find(({ ip, ipMode }) => ipMode !== "Proxy" && isOfNode(ip))?.ip
  const address = external ?? balanced
  const isServed =
    spec.type !== "ExternalName" && spec.clusterIP !== "None" && metadata.labels?.[PROXY_NAME] === undefined
  if (address === undefined || !isServed) return new Map()
  const field = external === undefined ? "status.loadBalancer.ingress" : "spec.externalIPs"
  const ports = (spec.ports ?? []).filter(({ protocol }) => protocol === "TCP")
  return new Map(ports.map(({ port }) => [port, { field, address }]))
}

/**
 * Tells which Services take packets for the open ports: kube-proxy's rules come before every listener. One
 * Service a port is told, and only after it has held the port for some time.
 */
export class PortHolders {
  readonly #clock: Clock
  readonly #again: () => void
  /** The time since when each Service has held a port, by the reported text. */
  #since = new Map<string, { readonly fault: PortFault; readonly at: number }>()
  #timer: Timer | undefined

  /** `again` is called when a Service has held a port long enough to be reported. */
  constructor(clock: Clock, again: () => void) {
    this.#clock = clock
    this.#again = again
  }

  tell(services: readonly Service[], nodeIps: readonly string[], ports: readonly ServedPort[]): readonly PortFault[] {
    const now = this.#clock.monotonic()
    const since = new Map(
      faultsOf(services, nodeIps, ports).map(
        (fault) => [fault.message, { fault, at: this.#since.get(fault.message)?.at ?? now }] as const,
      ),
    )
    this.#since = since
    this.#timer?.cancel()
    this.#timer = undefined
    const waiting = [...since.values()].map(({ at }) => at + STANDS_MS - now).filter((ms) => ms > 0)
    if (waiting.length > 0) this.#timer = this.#clock.setTimeout(this.#again, smallest(waiting))
    return [...since.values()].filter(({ at }) => at + STANDS_MS <= now).map(({ fault }) => fault)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#since.clear()
  }
}

function faultsOf(
  services: readonly Service[],
  nodeIps: readonly string[],
  ports: readonly ServedPort[],
): readonly PortFault[] {
  const byName = services
    .map((service) => ({ key: keyFrom(service.metadata), held: heldPorts(service, nodeIps) }))
    .filter(({ held }) => held.size > 0)
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  return ports.flatMap(({ port, mend }) => {
    const holder = byName.find(({ held }) => held.has(port))
    if (holder === undefined) return []
    const { field, address } = holder.held.get(port)!
    const message =
      `${field} of Service ${holder.key} has the node's address ${address}, with port ${port}: requests to it go to ` +
      `that Service and not to this proxy; take the address or the port out of the Service, or ${mend}`
    return { port, message }
  })
}
