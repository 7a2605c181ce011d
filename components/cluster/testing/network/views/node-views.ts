import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { Namespace } from "../../../../../pkg/api/core/v1/namespace.ts"
import { Service } from "../../../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../../../../pkg/api/discovery/v1/endpointslice.ts"
import { ServiceCIDR } from "../../../../../pkg/api/networking/v1/servicecidr.ts"
import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import type { Lister, Listers } from "../../../../../pkg/client/informer.ts"
import type { Clock } from "../../../../../pkg/clock/clock.ts"
import type { MemoryStorage } from "../../../../../pkg/storage/memory.ts"
import { KeptKind } from "./kept-kind.ts"
import { drawn, NO_LAG, type Lag } from "./lag.ts"
import { largest, smallest } from "../../../../../pkg/lists/extremes.ts"

export interface NodeViewsOptions {
  readonly storage: MemoryStorage
  readonly clock: Pick<Clock, "monotonic">
  readonly seed: number
  readonly lag: Lag
}

/** A change of a Service or an EndpointSlice. */
interface Change {
  readonly revision: number
  /** When it was made, in milliseconds of monotonic time. */
  readonly at: number
}

/** A fault by which changes come later to a node, or to all. */
interface Delay {
  readonly node: string | undefined
  readonly ms: number
  /** Changes from this time on are delayed. */
  readonly since: number
}

/** What a node knows. */
interface Place {
  /** The last change that has come to the node: what its DNS and its ingress proxy use. */
  informed: number
  /** The last change in the rules of its kube-proxy. */
  ruled: number
  /** When that change had come. */
  arrived: number
  /** Until when kube-proxy rests. */
  restsUntil: number
}

/** After so many changes those that every node knows are dropped. */
const CHANGES_A_ROUND = 1024
/** Longer than any lag without a fault, in milliseconds. */
const PATIENCE_MS = 10_000

/**
 * What each node knows of Services and their endpoints. A node's view is the state of some revision, and is worked out
 * from the times of the changes when somebody asks: no timer runs, so that a lag changes nothing but what is seen.
 */
export class NodeViews {
  readonly #options: NodeViewsOptions
  readonly #kinds = new Map<Resource, KeptKind<KubeObject>>()
  #changes: Change[] = []
  /** The newest change that is no longer in `#changes`. */
  #base: number
  readonly #places = new Map<string, Place>()
  readonly #delays = new Set<Delay>()

  constructor(options: NodeViewsOptions) {
    this.#options = options
    this.#base = options.storage.revision
    for (const resource of [Service, EndpointSlice] as const) this.#keep(resource as unknown as Resource, true)
    for (const resource of [Node, Namespace, ServiceCIDR] as const) this.#keep(resource as unknown as Resource, false)
  }

  /** Returns what the rules of a node's kube-proxy are made of; the newest state without a node. */
  rulesOf(node: string | undefined): Listers {
    return this.#at(() => (node === undefined || !this.#lags ? Infinity : this.#place(node).ruled))
  }

  /** Returns what has come to a node: its DNS and its ingress proxy use that at once. */
  knownTo(node: string | undefined): Listers {
    return this.#at(() => (node === undefined || !this.#lags ? Infinity : this.#place(node).informed))
  }

  /** Makes later changes come later to a node, or to all nodes. Returns a function that ends this. */
  delay(node: string | undefined, ms: number): () => void {
    for (const known of this.#places.keys()) this.#place(known)
    if (node !== undefined) this.#place(node)
    const delay = { node, ms, since: this.#now }
    this.#delays.add(delay)
    return () => {
      for (const known of this.#places.keys()) this.#place(known)
      this.#delays.delete(delay)
      if (!this.#lags) this.#forgetAll()
    }
  }

  stop(): void {
    for (const kind of this.#kinds.values()) kind.stop()
  }

  get #now(): number {
    return this.#options.clock.monotonic()
  }

  get #lags(): boolean {
    return this.#options.lag !== NO_LAG || this.#delays.size > 0
  }

  #keep(resource: Resource, lags: boolean): void {
    const options = {
      keeps: () => lags && this.#lags,
      changed: (revision: number) => {
        if (lags && this.#lags) this.#note({ revision, at: this.#now })
        else if (lags) this.#base = revision
      },
    }
    this.#kinds.set(resource, new KeptKind(this.#options.storage, resource, options))
  }

  #at(revision: () => number): Listers {
    return {
      of: <T extends KubeObject>(resource: Resource<T>) => {
        const kind = this.#kinds.get(resource as unknown as Resource)
        if (kind === undefined) throw new Error(`the network does not follow ${resource.plural}`)
        // Namespaces and the addresses of nodes are known at once.
        const lags = (resource as unknown) === Service || (resource as unknown) === EndpointSlice
        return kind.at(lags ? revision : () => Infinity) as unknown as Lister<T>
      },
    }
  }

  #note(change: Change): void {
    const last = this.#changes.at(-1)
    this.#changes.push(change)
    // Of one commit the Services are told first, then the EndpointSlices.
    if (last !== undefined && last.revision > change.revision) this.#changes.sort((a, b) => a.revision - b.revision)
    if (this.#changes.length % CHANGES_A_ROUND === 0) this.#forgetKnown(change.at)
  }

  /** Forgets the changes that every node knows. */
  #forgetKnown(now: number): void {
    const places = [...this.#places.keys()].map((node) => this.#place(node))
    const longest = Math.max(0, largest([...this.#delays].map(({ node, ms }) => (node === undefined ? ms : 0))))
    const byOthers = this.#changes.findLast(({ at }) => at < now - longest - PATIENCE_MS)?.revision ?? this.#base
    const known = Math.min(byOthers, smallest(places.map(({ ruled, informed }) => Math.min(ruled, informed))))
    this.#base = Math.max(this.#base, known)
    this.#changes = this.#changes.filter(({ revision }) => revision > this.#base)
    for (const kind of this.#kinds.values()) kind.forget(this.#base)
  }

  /** Called when nothing lags any more. */
  #forgetAll(): void {
    this.#base = this.#changes.at(-1)?.revision ?? this.#base
    this.#changes = []
    this.#places.clear()
    for (const kind of this.#kinds.values()) kind.forget(Infinity)
  }

  /** Returns what a node knows now. A node that nobody has asked for yet begins with what is known to all. */
  #place(node: string): Place {
    let place = this.#places.get(node)
    if (place === undefined) {
      place = { informed: this.#base, ruled: this.#base, arrived: 0, restsUntil: 0 }
      this.#places.set(node, place)
    }
    this.#move(node, place)
    return place
  }

  #move(node: string, place: Place): void {
    const { lag, seed } = this.#options
    const now = this.#now
    const ahead = this.#changes.slice(this.#changes.findLastIndex(({ revision }) => revision <= place.ruled) + 1)
    const arrivals: (Change & { readonly arrives: number })[] = []
    for (const change of ahead) {
      // A watch tells changes in their order.
      const arrives = Math.max(this.#arrival(node, change), arrivals.at(-1)?.arrives ?? place.arrived)
      if (arrives > now) break
      arrivals.push({ ...change, arrives })
      place.informed = Math.max(place.informed, change.revision)
    }
    for (;;) {
      const next = arrivals.find(({ revision }) => revision > place.ruled)
      if (next === undefined) return
      const begins = Math.max(next.arrives, place.restsUntil)
      const ends = begins + drawn(lag.writeMs, seed, `writes ${node} ${next.revision}`)
      if (ends > now) return
      const last = arrivals.findLast(({ arrives }) => arrives <= begins)!
      place.ruled = last.revision
      place.arrived = last.arrives
      place.restsUntil = ends + lag.restMs
    }
  }

  #arrival(node: string, { revision, at }: Change): number {
    const { lag, seed } = this.#options
    const delays = [...this.#delays].filter((delay) => (delay.node ?? node) === node && delay.since <= at)
    const ms = Math.max(0, largest(delays.map((delay) => delay.ms)))
    return at + ms + drawn(lag.watchMs, seed, `watches ${node} ${revision}`)
  }
}
