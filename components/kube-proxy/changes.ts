import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice, serviceKeyOf } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Index, Informers } from "../../pkg/client/informer.ts"
import type { Family } from "../../pkg/apimachinery/cidr.ts"
import type { ProxyMetrics } from "./metrics.ts"
import type { ServiceChange } from "./rule-writer.ts"
import { concerns, servicePorts, type ServicePort } from "./service-ports.ts"

const byService = (family: Family): Index<EndpointSlice> => ({
  name: `kube-proxy/service/${family}`,
  of: (slice) => (concerns(slice, family) ? [serviceKeyOf(slice)] : []),
})
/** When what the slice tells of began to change. Source: k8s.io/api core/v1 annotation_key_constants.go. */
const TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"

/** Source: k8s.io/api core/v1 well_known_labels.go. */
const ZONE = "topology.kubernetes.io/zone"

export interface ChangesParts {
  readonly informers: Informers
  readonly nodeName: string
  readonly family: Family
  readonly metrics: ProxyMetrics
  /** Milliseconds since the epoch; changes that were triggered before are not measured. */
  readonly startedAt: number
  /** Something changed that rules follow from. */
  changed(): void
}

/**
 * The ports that all Services have in one family, worked out anew only for Services that changed. Source:
 * pkg/proxy/servicechangetracker.go, endpointschangetracker.go.
 */
export class Changes {
  readonly #parts: ChangesParts
  readonly #byService: Index<EndpointSlice>
  readonly #dirty = new Set<string>()
  readonly #ports = new Map<string, readonly ServicePort[]>()
  /** By Service, when the changes were triggered that no rules follow from yet, in milliseconds since the epoch. */
  #triggers = new Map<string, number[]>()

  constructor(parts: ChangesParts) {
    this.#parts = parts
    this.#byService = byService(parts.family)
  }

  /** Follows Services and their endpoints. Returns what ends that. */
  follow(): () => void {
    const { informers, metrics, family } = this.#parts
    const ofService = ({ metadata }: Service) => {
      metrics.serviceChanges.inc()
      metrics.serviceChangesPending.inc()
      this.#note(`${metadata.namespace}/${metadata.name}`)
    }
    const ofSlice = (slice: EndpointSlice, isGone: boolean) => {
      if (!concerns(slice, family)) return
      metrics.endpointChanges.inc()
      metrics.endpointChangesPending.inc()
      this.#trigger(slice, isGone)
      this.#note(serviceKeyOf(slice))
    }
    const slice = (found: EndpointSlice) => ofSlice(found, false)
    const off = [
      informers.of(Service).on({ added: ofService, updated: ofService, deleted: ofService }),
      informers.of(EndpointSlice).on({ added: slice, updated: slice, deleted: (gone) => ofSlice(gone, true) }),
      informers.of(Node).on({
        added: (node) => this.#noteZone(undefined, node),
        updated: (node, old) => this.#noteZone(old, node),
      }),
    ]
    return () => off.forEach((end) => end())
  }

  /** All ports as they are now: as they were when `take` was last called. */
  all(): readonly ServicePort[] {
    return [...this.#ports.values()].flat()
  }

  of(key: string): readonly ServicePort[] {
    return this.#ports.get(key) ?? []
  }

  /** What has changed since this was last called, by Service, and when it was triggered. */
  take(): { readonly changes: ReadonlyMap<string, ServiceChange>; readonly triggers: readonly number[] } {
    const { informers, nodeName, family, metrics } = this.#parts
    const changes = new Map<string, ServiceChange>()
    for (const key of this.#dirty) {
      const service = informers.of(Service).get(key)
      const slices = informers.of(EndpointSlice).by(this.#byService, key)
      const after = service === undefined ? [] : servicePorts(service, slices, family, { nodeName, zone: this.#zone() })
      changes.set(key, { before: this.of(key), after })
      if (after.length === 0) this.#ports.delete(key)
      else this.#ports.set(key, after)
    }
    this.#dirty.clear()
    metrics.endpointChangesPending.set(0)
    metrics.serviceChangesPending.set(0)
    const triggers = [...this.#triggers.values()].flat()
    this.#triggers = new Map()
    return { changes, triggers }
  }

  #zone(): string | undefined {
    const { informers, nodeName } = this.#parts
    return informers.of(Node).get(nodeName)?.metadata.labels?.[ZONE]
  }

  /** Which endpoints are near depends on where this node is. */
  #noteZone(old: Node | undefined, node: Node): void {
    const { informers, nodeName } = this.#parts
    if (node.metadata.name !== nodeName || old?.metadata.labels?.[ZONE] === node.metadata.labels?.[ZONE]) return
    for (const { metadata } of informers.of(Service).list()) this.#note(`${metadata.namespace}/${metadata.name}`)
  }

  #note(key: string): void {
    this.#dirty.add(key)
    this.#parts.changed()
  }

  /** The time that stands in a slice which is deleted is that of the change before. */
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
