import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice, MANAGED_BY, serviceKeyOf } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Index, Informers } from "../../pkg/client/informer.ts"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import type { Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { OutsideAddresses, sameAddresses, servicesWithExternalIps } from "../../pkg/component/outside-addresses.ts"
import type { Seam } from "../../pkg/quarantine/seam.ts"
import { editionOf } from "../../pkg/quarantine/edition.ts"
import type { ProxyMetrics } from "./metrics.ts"
import type { ServiceChange } from "./rule-writer.ts"
import { concerns, makingServicePorts, type ServicePort } from "./service-ports.ts"

const byService = (family: Family): Index<EndpointSlice> => ({
  name: `kube-proxy/service/${family}`,
  of: (slice) => (concerns(slice, family) ? [serviceKeyOf(slice)] : []),
})
/**
 * The annotation with the time of the change that the slice reflects. Source: k8s.io/api core/v1
 * annotation_key_constants.go.
 */
const TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"

/** Source: k8s.io/api core/v1 well_known_labels.go. */
const ZONE = "topology.kubernetes.io/zone"

export interface ChangesParts {
  readonly informers: Informers
  readonly nodeName: string
  readonly family: Family
  readonly metrics: ProxyMetrics
  /** In milliseconds since the epoch; the latency of earlier changes is not recorded. */
  readonly startedAt: number
  /** Leaves out a Service alone that cannot be worked on. */
  readonly seam: Pick<Seam, "steps">
  /** Tries what the writer of the rules makes of the ports of a Service. @throws Error where it makes nothing */
  trying(ports: readonly ServicePort[]): Generator<void>
  /** Whether the kernel has refused the rules of a Service, which has not been edited since: it is left out. */
  isRefused(key: string, edition: () => string | undefined): boolean
  /** Called for a Service of which `leftOut` ports are not served: see `servicePorts`. */
  limited(service: Service, leftOut: number): void
  /** Called when `object` changed in a way that affects the rules. */
  changed(object: Service | EndpointSlice | Node | ServiceCIDR): void
}

/**
 * The ports of all Services in one address family, computed again only for Services that changed. Source:
 * pkg/proxy/servicechangetracker.go, endpointschangetracker.go.
 */
export class Changes {
  readonly #parts: ChangesParts
  readonly #byService: Index<EndpointSlice>
  readonly #addresses: OutsideAddresses
  readonly #dirty = new Set<string>()
  readonly #ports = new Map<string, readonly ServicePort[]>()
  /** The times of changes that are not in the rules yet, by Service, in milliseconds since the epoch. */
  #triggers = new Map<string, number[]>()

  constructor(parts: ChangesParts) {
    this.#parts = parts
    this.#byService = byService(parts.family)
    this.#addresses = new OutsideAddresses(parts.informers)
  }

  /** Watches Services and their endpoints. Returns a function that ends this. */
  follow(): () => void {
    const { informers, metrics, family } = this.#parts
    const ofService = (service: Service) => {
      const { metadata } = service
      metrics.serviceChanges.inc()
      metrics.serviceChangesPending.inc()
      this.#note(`${metadata.namespace}/${metadata.name}`, service)
    }
    const ofSlice = (slice: EndpointSlice, isGone: boolean) => {
      if (!concerns(slice, family)) return
      metrics.endpointChanges.inc()
      metrics.endpointChangesPending.inc()
      this.#trigger(slice, isGone)
      this.#note(serviceKeyOf(slice), slice)
    }
    const slice = (found: EndpointSlice) => ofSlice(found, false)
    const changed = (found: EndpointSlice, old: EndpointSlice) => {
      slice(found)
      // A slice that got the name of another Service, or a label by which it is nobody's, is taken from the one it had.
      if (concerns(old, family) && !(concerns(found, family) && serviceKeyOf(found) === serviceKeyOf(old)))
        ofSlice(old, true)
    }
    const cidr = (range: ServiceCIDR) => this.#noteRange(range)
    const off = [
      informers.of(Service).on({ added: ofService, updated: ofService, deleted: ofService }),
      informers.of(EndpointSlice).on({ added: slice, updated: changed, deleted: (gone) => ofSlice(gone, true) }),
      informers.of(Node).on({
        added: (node) => {
          this.#noteZone(undefined, node)
          this.#noteAddresses(node)
        },
        updated: (node, old) => {
          this.#noteZone(old, node)
          if (!sameAddresses(node, old)) this.#noteAddresses(node)
        },
        deleted: (node) => this.#noteAddresses(node),
      }),
      informers.of(ServiceCIDR).on({ added: cidr, updated: cidr, deleted: cidr }),
    ]
    return () => off.forEach((end) => end())
  }

  /** Returns all ports as of the last call of `taking`. */
  all(): readonly ServicePort[] {
    return [...this.#ports.values()].flat()
  }

  of(key: string): readonly ServicePort[] {
    return this.#ports.get(key) ?? []
  }

  /** The ports of each Service as of the last call of `taking`. */
  get services(): ReadonlyMap<string, readonly ServicePort[]> {
    return this.#ports
  }

  /**
   * Takes a Service out of the rules. Returns this change, and what changes with an edit of the Service; undefined
   * where there was one meanwhile.
   */
  leaveOut(key: string): { readonly change: ServiceChange; readonly edition: string | undefined } {
    const before = this.of(key)
    this.#ports.delete(key)
    return { change: { before, after: [] }, edition: this.#dirty.has(key) ? undefined : this.#edition(key) }
  }

  /** Has the rules of a Service worked out again. */
  again(key: string): void {
    const service = this.#parts.informers.of(Service).get(key)
    if (service !== undefined) this.#note(key, service)
  }

  /**
   * Returns in steps the changes since the last call by Service, and the times that triggered them. A Service that is
   * left out keeps the ports that it had.
   */
  *taking(): Generator<
    void,
    { readonly changes: ReadonlyMap<string, ServiceChange>; readonly triggers: readonly number[] }
  > {
    const { metrics, seam } = this.#parts
    const changes = new Map<string, ServiceChange>()
    const triggers = [...this.#triggers.values()].flat()
    this.#triggers = new Map()
    metrics.endpointChangesPending.set(0)
    metrics.serviceChangesPending.set(0)
    for (const key of [...this.#dirty]) {
      // A change that comes between two steps makes the key dirty again.
      this.#dirty.delete(key)
      if (this.#parts.isRefused(key, () => this.#edition(key))) continue
      const made = yield* seam.steps(
        key,
        () => this.#edition(key),
        () => this.#making(key),
      )
      if (made === undefined) continue
      const after = made.value
      changes.set(key, { before: this.of(key), after })
      if (after.length === 0) this.#ports.delete(key)
      else this.#ports.set(key, after)
    }
    return { changes, triggers }
  }

  *#making(key: string): Generator<void, readonly ServicePort[]> {
    const { informers, nodeName, family, limited, trying } = this.#parts
    const service = informers.of(Service).get(key)
    if (service === undefined) return []
    const slices = informers.of(EndpointSlice).by(this.#byService, key)
    const place = { nodeName, zone: this.#zone() }
    const leaveOut = (leftOut: number) => limited(service, leftOut)
    const ports = yield* makingServicePorts(service, slices, family, place, this.#addresses, leaveOut)
    yield* trying(ports)
    return ports
  }

  /** Changes with an edit of the Service, or of a slice that no controller writes: those change with each pod. */
  #edition(key: string): string | undefined {
    const { informers } = this.#parts
    const service = informers.of(Service).get(key)
    if (service === undefined) return undefined
    const slices = informers.of(EndpointSlice).by(this.#byService, key)
    const own = slices.filter(({ metadata }) => metadata.labels?.[MANAGED_BY] === undefined).map(editionOf)
    return [editionOf(service), ...own.sort()].join("\n")
  }

  #zone(): string | undefined {
    const { informers, nodeName } = this.#parts
    return informers.of(Node).get(nodeName)?.metadata.labels?.[ZONE]
  }

  /** The node's zone decides which endpoints are near. */
  #noteZone(old: Node | undefined, node: Node): void {
    const { informers, nodeName } = this.#parts
    if (node.metadata.name !== nodeName || old?.metadata.labels?.[ZONE] === node.metadata.labels?.[ZONE]) return
    for (const { metadata } of informers.of(Service).list()) this.#note(`${metadata.namespace}/${metadata.name}`, node)
  }

  /** The addresses of nodes are no external addresses of Services. */
  #noteAddresses(node: Node): void {
    for (const { metadata } of servicesWithExternalIps(this.#parts.informers))
      this.#note(`${metadata.namespace}/${metadata.name}`, node)
  }

  /** Addresses in a range of cluster IPs are no external addresses of Services, nor addresses of load balancers. */
  #noteRange(range: ServiceCIDR): void {
    for (const { metadata, spec, status } of this.#parts.informers.of(Service).list())
      if ((spec.externalIPs ?? []).length > 0 || (status.loadBalancer.ingress ?? []).length > 0)
        this.#note(`${metadata.namespace}/${metadata.name}`, range)
  }

  #note(key: string, reason: Service | EndpointSlice | Node | ServiceCIDR): void {
    this.#dirty.add(key)
    this.#parts.changed(reason)
  }

  /** The time in a slice that is deleted is that of an earlier change. */
  #trigger(slice: EndpointSlice, isGone: boolean): void {
    const key = serviceKeyOf(slice)
    if (isGone) return void this.#triggers.delete(key)
    const time = Date.parse(slice.metadata.annotations?.[TRIGGER_TIME] ?? "")
    if (!(time > this.#parts.startedAt)) return
    const known = this.#triggers.get(key)
    if (known === undefined) this.#triggers.set(key, [time])
    else known.push(time)
  }
}
