import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { TOPOLOGY_HINTS, TOPOLOGY_MODE } from "../../../pkg/api/core/v1/service/service-validation.ts"
import type { Endpoint } from "../../../pkg/api/discovery/v1/endpoint.ts"
import type { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { milliOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { Key } from "../../../pkg/client/informer.ts"
import { withoutHints, type SliceChanges, type SliceDraft } from "./slices.ts"
import { allocate, exchange, OVERLOAD, type Allocations, type Counts } from "./zone-shares.ts"

export const ZONE = "topology.kubernetes.io/zone"
const EXCLUDED = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]

type Family = EndpointSlice["addressType"]

/** An Event about a Service whose hints were set or removed. */
export interface HintEvent {
  readonly type: "Normal" | "Warning"
  readonly reason: "TopologyAwareHintsEnabled" | "TopologyAwareHintsDisabled"
  readonly message: string
}

/** Whether a Service asks for hints by zone. Source: hintsEnabled, k8s.io/endpointslice/utils.go. */
export function wantsTopologyHints({ metadata: { annotations = {} } }: Service): boolean {
  const asked = annotations[TOPOLOGY_HINTS] ?? annotations[TOPOLOGY_MODE]
  return asked === "Auto" || asked === "auto"
}

/**
 * Gives each ready endpoint of a Service with `service.kubernetes.io/topology-mode: Auto` a hint for one zone, so that
 * each zone has the share of endpoints that it has of the nodes' CPUs. Remembers what each Service got, since endpoints
 * keep their hints until a zone has too few. Source: k8s.io/endpointslice/topologycache (KEP-2433).
 */
export class TopologyHints {
  /** The part of all CPUs that each zone has; undefined where that is not known of some node, or there is one zone. */
  #ratios: ReadonlyMap<string, number> | undefined
  readonly #allocated = new Map<Key, Map<Family, Counts>>()
  /** Services that have hints as far as their users were told. */
  readonly #hinted = new Set<Key>()

  setNodes(nodes: readonly Node[]): void {
    this.#ratios = ratiosOf(nodes)
  }

  /** Whether any Service has hints, so that nodes matter. */
  get isUsed(): boolean {
    return this.#allocated.size > 0
  }

  /** The Services of which a zone has too few endpoints. Source: GetOverloadedServices. */
  get overloaded(): readonly Key[] {
    return [...this.#allocated].flatMap(([key, families]) =>
      [...families.values()].some((counts) => isOverloaded(counts, this.#ratios)) ? [key] : [],
    )
  }

  /** Adds hints, or removes all of them where they would not spread the load. Source: AddHints. */
  add(key: Key, family: Family, changes: SliceChanges): { readonly changes: SliceChanges; readonly event?: HintEvent } {
    const refused = (why: string) => {
      this.#forgetFamily(key, family)
      return { changes: stripped(changes), event: disabled(why, family) }
    }
    const drafts: readonly SliceDraft[] = [...changes.created, ...changes.updated]
    const ready = [...drafts, ...changes.unchanged].reduce((sum, { endpoints }) => sum + countReady(endpoints), 0)
    const allocations = allocate(this.#ratios, ready)
    if (typeof allocations === "string") return refused(allocations)
    const { counts, valid, invalid } = judged(changes.unchanged, allocations)
    const hints = new Map<Endpoint, string>()
    const updated = [
      ...changes.updated,
      ...invalid.map((slice) => ({ slice, endpoints: (slice.endpoints ?? []).map(withoutHints) })),
    ]
    const open = [...changes.created, ...updated].flatMap(({ endpoints }) => endpoints.filter(isReady))
    for (const endpoint of open) {
      const { zone = "" } = endpoint
      if (zone === "") return refused("One or more endpoints do not have a zone specified")
      add(counts, zone, 1)
      hints.set(endpoint, zone)
    }
    redistribute(open, hints, counts, allocations)
    this.#remember(key, family, counts)
    const hinted = <D extends SliceDraft>(draft: D): D => ({
      ...draft,
      endpoints: draft.endpoints.map((endpoint) => {
        const zone = hints.get(endpoint)
        return zone === undefined ? endpoint : withHint(endpoint, zone)
      }),
    })
    const isNew = !this.#hinted.has(key)
    this.#hinted.add(key)
    return {
      changes: { created: changes.created.map(hinted), updated: updated.map(hinted), unchanged: valid },
      ...(isNew ? { event: enabled(family) } : {}),
    }
  }

  /** Forgets the hints of a Service that does not ask for them; returns the Event if it had any. */
  drop(key: Key, family: Family): HintEvent | undefined {
    const had = this.#hinted.has(key)
    this.#forgetFamily(key, family)
    return had ? disabled("Topology Aware Hints has been disabled", family) : undefined
  }

  /** Forgets a Service that is deleted. */
  forget(key: Key): void {
    this.#allocated.delete(key)
    this.#hinted.delete(key)
  }

  #remember(key: Key, family: Family, counts: Counts): void {
    const families = this.#allocated.get(key) ?? new Map<Family, Counts>()
    this.#allocated.set(key, families)
    families.set(family, counts)
  }

  #forgetFamily(key: Key, family: Family): void {
    const families = this.#allocated.get(key)
    families?.delete(family)
    if (families?.size === 0) this.#allocated.delete(key)
    this.#hinted.delete(key)
  }
}

const event = (type: HintEvent["type"], reason: HintEvent["reason"], message: string, family: Family): HintEvent => ({
  type,
  reason,
  message: `${message}, addressType: ${family}`,
})
const disabled = (why: string, family: Family) => event("Warning", "TopologyAwareHintsDisabled", why, family)
const enabled = (family: Family) =>
  event("Normal", "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled", family)

const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready === true
const countReady = (endpoints: readonly Endpoint[] | null | undefined): number =>
  (endpoints ?? []).filter(isReady).length
const add = (counts: Counts, zone: string, by: number) => counts.set(zone, (counts.get(zone) ?? 0) + by)

/** Returns the endpoint with a hint, which stands where the API's declaration has it: slices are compared as JSON. */
function withHint({ hostname, ...endpoint }: Endpoint, zone: string): Endpoint {
  return { ...endpoint, hints: { forZones: [{ name: zone }] }, ...(hostname === undefined ? {} : { hostname }) }
}

/** Returns the changes with all hints removed, also from slices that would not change otherwise. */
function stripped({ created, updated, unchanged }: SliceChanges): SliceChanges {
  const hasHints = ({ endpoints }: EndpointSlice) => (endpoints ?? []).some(({ hints }) => hints !== undefined)
  return {
    created,
    updated: [
      ...updated,
      ...unchanged.filter(hasHints).map((slice) => ({ slice, endpoints: (slice.endpoints ?? []).map(withoutHints) })),
    ],
    unchanged: unchanged.filter((slice) => !hasHints(slice)),
  }
}

/**
 * Divides slices that do not change otherwise into those whose hints stand, with the number of these for each zone, and
 * those that need new ones. Source: getAllocatedHintsByZone, getHintsByZone.
 */
function judged(slices: readonly EndpointSlice[], allocations: Allocations) {
  const counts: Counts = new Map()
  const valid: EndpointSlice[] = []
  const invalid: EndpointSlice[] = []
  for (const slice of slices) {
    const own: Counts = new Map()
    const zones = (slice.endpoints ?? [])
      .filter(isReady)
      .map(({ hints }) => (hints?.forZones ?? []).map(({ name }) => name))
    for (const zone of zones.flat()) add(own, zone, 1)
    const stands =
      zones.every((hinted) => hinted.length > 0) &&
      [...own].every(([zone, count]) => (counts.get(zone) ?? 0) + count <= (allocations.get(zone)?.maximum ?? -1))
    if (stands) for (const [zone, count] of own) add(counts, zone, count)
    ;(stands ? valid : invalid).push(slice)
  }
  return { counts, valid, invalid }
}

/** Gives endpoints of zones with too many to zones with too few. Source: redistributeHints. */
function redistribute(
  open: readonly Endpoint[],
  hints: Map<Endpoint, string>,
  counts: Counts,
  allocations: Allocations,
): void {
  const { giving, receiving } = exchange(allocations, counts)
  for (const endpoint of open) {
    const from = endpoint.zone ?? ""
    const [to] = [...receiving].find(([, count]) => count > 0) ?? []
    if (to === undefined) return
    if ((giving.get(from) ?? 0) <= 0) continue
    hints.set(endpoint, to)
    add(giving, from, -1)
    add(receiving, to, -1)
    add(counts, from, -1)
    add(counts, to, 1)
  }
}

/** Source: serviceOverloaded. */
function isOverloaded(counts: ReadonlyMap<string, number>, ratios: ReadonlyMap<string, number> | undefined): boolean {
  if (counts.size === 0) return false
  if (ratios === undefined) return true
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return [...ratios].some(([zone, ratio]) => {
    const count = counts.get(zone)
    return count === undefined || count < Math.ceil(total * ratio * (1 / (1 + OVERLOAD)))
  })
}

/** Source: SetNodes. */
function ratiosOf(nodes: readonly Node[]): ReadonlyMap<string, number> | undefined {
  const cpus = new Map<string, number>()
  let total = 0
  for (const { metadata, status } of nodes) {
    const { labels = {} } = metadata
    if (EXCLUDED.some((label) => Object.hasOwn(labels, label))) continue
    if (status.conditions?.find(({ type }) => type === "Ready")?.status !== "True") continue
    const cpu = milliOf(status.allocatable?.["cpu"] ?? "0")
    const zone = labels[ZONE] ?? ""
    if (zone === "" || cpu === 0) return undefined
    cpus.set(zone, (cpus.get(zone) ?? 0) + cpu)
    total += cpu
  }
  if (cpus.size < 2) return undefined
  return new Map([...cpus].sort(([a], [b]) => (a < b ? -1 : 1)).map(([zone, cpu]) => [zone, cpu / total]))
}
