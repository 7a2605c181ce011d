import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Taint } from "../../../pkg/api/core/v1/node/nodespec.ts"
import { TAINT } from "../../../pkg/api/core/v1/node/taints.ts"
import { EvictionQueue } from "./eviction-queue.ts"
import type { EvictionRates } from "./settings.ts"
import type { ZoneMetrics } from "./zone-metrics.ts"

export type ZoneState = "Initial" | "Normal" | "PartialDisruption" | "FullDisruption"

interface Zone {
  state: ZoneState
  readonly queue: EvictionQueue
}

/** What the state of a zone depends on. */
interface Seen {
  readonly zone: string
  readonly ready: string | undefined
  /** Whether the node's readiness counts for its zone. */
  readonly counts: boolean
}

/**
 * Decides which nodes that are not ready get a NoExecute taint, and when: one after the other in each zone, more slowly
 * or not at all where many are not ready, since then the network is the likelier fault. Where no node at all is ready,
 * taints are removed and no pods are evicted (upstream's master disruption mode). Keeps its state in memory and calls
 * nothing. Source: handleDisruption, ComputeZoneState and setLimiterInZone of pkg/controller/nodelifecycle.
 */
export class Zones {
  readonly #rates: EvictionRates
  readonly #metrics: ZoneMetrics | undefined
  readonly #zones = new Map<string, Zone>()
  readonly #nodes = new Map<string, Seen>()
  /** Nodes whose turn has come, until they show their taint. */
  readonly #granted = new Set<string>()
  /** Nodes whose taints are from before they were first seen here, and are removed. */
  readonly #fresh = new Set<string>()
  #allLost = false

  constructor(rates: EvictionRates, metrics?: ZoneMetrics) {
    this.#rates = rates
    this.#metrics = metrics
  }

  knows(node: string): boolean {
    return this.#nodes.has(node)
  }

  /** Takes note of a node between passes. Returns whether its zone must be judged again, by `pass`. */
  notes(node: Node): boolean {
    const [known, seen] = [this.#nodes.get(node.metadata.name ?? ""), seenOf(node)]
    if (known === undefined || known.zone !== seen.zone || known.ready !== seen.ready || known.counts !== seen.counts)
      return true
    this.#enlist(node, seen)
    return false
  }

  /** Returns whether a node that is not ready should have the NoExecute taint. */
  evicts(node: Node): boolean {
    const name = node.metadata.name ?? ""
    return !this.#allLost && !this.#fresh.has(name) && (this.#granted.has(name) || isEvicted(node))
  }

  /** Counts a taint that was written. */
  evicted(node: Node): void {
    if (this.#granted.has(node.metadata.name ?? "")) this.#metrics?.evicted(zoneOf(node))
  }

  /** Judges every zone by all nodes that there are. Returns the nodes whose NoExecute taints must be removed. */
  pass(nodes: readonly Node[], now: number): readonly string[] {
    const counts = new Map<string, { size: number; unready: number }>()
    const gone = new Set(this.#nodes.keys())
    for (const node of nodes) {
      const name = node.metadata.name ?? ""
      const seen = seenOf(node)
      const before = this.#nodes.get(name)
      gone.delete(name)
      if (before === undefined) this.#fresh.add(name)
      else if (before.zone !== seen.zone) this.#zones.get(before.zone)?.queue.delete(name)
      this.#nodes.set(name, seen)
      this.#enlist(node, seen)
      if (!seen.counts) continue
      const count = counts.get(seen.zone) ?? { size: 0, unready: 0 }
      count.size++
      if (seen.ready !== "True") count.unready++
      counts.set(seen.zone, count)
    }
    for (const name of gone) this.#forget(name)
    this.#dropZonesWithout(counts)
    return this.#judge(counts, nodes, now)
  }

  /** Returns the nodes that get their taint now. */
  take(now: number): readonly string[] {
    const taken: string[] = []
    for (const { queue } of this.#zones.values()) {
      for (let node = queue.take(now); node !== undefined; node = queue.take(now)) {
        this.#granted.add(node)
        taken.push(node)
      }
    }
    return taken
  }

  /** When `take` will return a node, in milliseconds of the monotonic clock; undefined while none waits. */
  get due(): number | undefined {
    let due: number | undefined
    for (const { queue } of this.#zones.values())
      if (queue.due !== undefined) due = Math.min(due ?? Infinity, queue.due)
    return due
  }

  #judge(
    counts: ReadonlyMap<string, { size: number; unready: number }>,
    nodes: readonly Node[],
    now: number,
  ): readonly string[] {
    const judged = [...counts].map(([name, { size, unready }]) => {
      this.#metrics?.counted(name, size, unready)
      return { zone: this.#zone(name), size, state: this.#stateOf(size, unready) }
    })
    const allAre = judged.every(({ state }) => state === "FullDisruption")
    const allWere = judged.every(({ zone }) => zone.state === "FullDisruption")
    this.#allLost = allAre && judged.length > 0
    if (allAre && allWere) return []
    if (allAre) {
      for (const zone of this.#zones.values()) zone.queue.setRate(0, now)
      for (const { zone } of judged) zone.state = "FullDisruption"
      this.#granted.clear()
      return nodes.filter(isEvicted).map(({ metadata }) => metadata.name ?? "")
    }
    if (allWere) for (const { queue } of this.#zones.values()) queue.setRate(this.#rates.rate, now)
    for (const { zone, size, state } of judged) {
      // As upstream: a zone that stays lost while the first nodes of a new zone are ready keeps its rate of 0.
      if (zone.state === state && !allWere) continue
      zone.queue.setRate(this.#rateOf(state, size), now)
      zone.state = state
    }
    return []
  }

  #stateOf(size: number, unready: number): ZoneState {
    if (unready === size) return "FullDisruption"
    return unready > 2 && unready / size >= this.#rates.unhealthyPart ? "PartialDisruption" : "Normal"
  }

  #rateOf(state: ZoneState, size: number): number {
    const { rate, secondaryRate, largeZone } = this.#rates
    if (state !== "PartialDisruption") return rate
    return size > largeZone ? secondaryRate : 0
  }

  /** Lets a node wait for its taint if it should have one. */
  #enlist(node: Node, { zone, ready }: Seen): void {
    const name = node.metadata.name ?? ""
    const { queue } = this.#zone(zone)
    const tainted = isEvicted(node)
    if (!tainted) this.#fresh.delete(name)
    if (tainted || (ready !== "False" && ready !== "Unknown")) {
      queue.delete(name)
      this.#granted.delete(name)
    } else if (!this.#granted.has(name)) queue.add(name)
  }

  #zone(name: string): Zone {
    let zone = this.#zones.get(name)
    if (zone === undefined) {
      zone = { state: "Initial", queue: new EvictionQueue(this.#rates.rate) }
      this.#zones.set(name, zone)
    }
    return zone
  }

  #forget(node: string): void {
    const zone = this.#nodes.get(node)?.zone ?? ""
    this.#zones.get(zone)?.queue.delete(node)
    this.#nodes.delete(node)
    this.#granted.delete(node)
    this.#fresh.delete(node)
  }

  #dropZonesWithout(counts: ReadonlyMap<string, unknown>): void {
    const left = new Set([...this.#nodes.values()].map(({ zone }) => zone))
    for (const zone of this.#zones.keys()) {
      if (counts.has(zone)) continue
      if (left.has(zone)) this.#metrics?.counted(zone, 0, 0)
      else {
        this.#zones.delete(zone)
        this.#metrics?.gone(zone)
      }
    }
  }
}

const EXCLUDED = "node.kubernetes.io/exclude-disruption"

const seenOf = (node: Node): Seen => ({
  zone: zoneOf(node),
  ready: node.status.conditions?.find(({ type }) => type === "Ready")?.status,
  counts: !Object.hasOwn(node.metadata.labels ?? {}, EXCLUDED),
})

/** Whether this is one of the taints by which this controller has pods evicted. */
export const isEvicting = ({ key, effect }: Taint): boolean =>
  effect === "NoExecute" && (key === TAINT.unreachable || key === TAINT.notReady)

const isEvicted = (node: Node): boolean => (node.spec.taints ?? []).some(isEvicting)

/**
 * The zone of a node with its region, as labels of metrics show it; "" without both. Source: GetZoneKey,
 * component-helpers node/topology.
 */
export function zoneOf({ metadata: { labels = {} } }: Node): string {
  const zone = labels["failure-domain.beta.kubernetes.io/zone"] ?? labels["topology.kubernetes.io/zone"] ?? ""
  const region = labels["failure-domain.beta.kubernetes.io/region"] ?? labels["topology.kubernetes.io/region"] ?? ""
  return zone === "" && region === "" ? "" : `${region}:\0:${zone}`
}
