import { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceQuota } from "../api/core/v1/resourcequota/resourcequota.ts"
import { ResourceClaim } from "../api/resource/v1/resourceclaim.ts"
import { finished } from "../apimachinery/finished.ts"
import { deepEqual } from "../apimachinery/json/equal.ts"
import { isKind, type KubeObject, type Resource } from "../apimachinery/resource.ts"
import { addQuantities, type Quantity } from "../apimachinery/scalars/quantity.ts"
import type { QuotaObjects, Usage } from "./quota-objects.ts"
import { inScope } from "./quota-scope.ts"
import { usageOf } from "./quota-usage.ts"

/** A pod takes some microseconds. */
const OBJECTS_A_STEP = 100

/**
 * How much of one quota the objects of one kind use. It follows their changes, so that a write costs the same in a
 * namespace of ten objects and in one of ten thousand.
 */
class QuotaTally {
  readonly #quota: ResourceQuota
  readonly #resource: Resource
  readonly #objects: QuotaObjects
  readonly #used: Record<string, Quantity> = {}
  /** Objects by name whose usage changes without a write of them; they are counted at each question. */
  readonly #changing = new Map<string, KubeObject>()
  /** Changes that came while the objects were counted; undefined when all are. */
  #later: (readonly [old: KubeObject | undefined, now: KubeObject | undefined])[] | undefined = []

  constructor(quota: ResourceQuota, resource: Resource, objects: QuotaObjects) {
    this.#quota = quota
    this.#resource = resource
    this.#objects = objects
  }

  /** Whether what was counted is what this state of the quota counts. */
  counts({ spec }: ResourceQuota): boolean {
    return spec === this.#quota.spec || deepEqual(spec, this.#quota.spec)
  }

  /** Whether all objects are counted. */
  get isWhole(): boolean {
    return this.#later === undefined
  }

  /** Counts the objects that are there, in steps. Changes of them may come meanwhile. */
  *counting(objects: readonly KubeObject[]): Generator<void, void> {
    for (const [i, object] of objects.entries()) {
      this.#change(undefined, object)
      if (i % OBJECTS_A_STEP === OBJECTS_A_STEP - 1) yield
    }
    const later = this.#later ?? []
    this.#later = undefined
    for (const [old, now] of later) this.#change(old, now)
  }

  /** Follows the creation of an object (`old` is undefined), its update, or its deletion (`now` is undefined). */
  change(old: KubeObject | undefined, now: KubeObject | undefined): void {
    if (this.#later === undefined) this.#change(old, now)
    else this.#later.push([old, now])
  }

  #change(old: KubeObject | undefined, now: KubeObject | undefined): void {
    if (old !== undefined && !this.#changing.delete(old.metadata.name ?? "")) this.#add(this.#used, old, -1n)
    if (now === undefined) return
    if (isChanging(now)) this.#changing.set(now.metadata.name ?? "", now)
    else this.#add(this.#used, now, 1n)
  }

  /** Returns the usage of all objects, by those names of the quota's `hard` that any of them uses. */
  used(): Usage {
    if (this.#changing.size === 0) return this.#used
    const all = { ...this.#used }
    for (const object of this.#changing.values()) this.#add(all, object, 1n)
    return all
  }

  #add(used: Record<string, Quantity>, object: KubeObject, sign: 1n | -1n): void {
    if (!inScope(this.#quota, object)) return
    const { hard = {} } = this.#quota.spec
    for (const [entry, { nano, format }] of Object.entries(usageOf(this.#resource, object, this.#objects))) {
      if (hard[entry] === undefined) continue
      const amount = { nano: sign * nano, format }
      used[entry] = used[entry] === undefined ? amount : addQuantities(used[entry], amount)
    }
  }
}

/** A pod that is being deleted stops counting when its grace period is over; a claim depends on classes and pods. */
const isChanging = (object: KubeObject): boolean =>
  isKind(ResourceClaim, object) || (isKind(Pod, object) && object.metadata.deletionTimestamp !== undefined)

/** The tallies of quotas, by the place of the objects that they count: a prefix that ends in the namespace and `/`. */
export class QuotaTallies {
  readonly #objects: QuotaObjects
  /** By place, and then by the quota's name. */
  readonly #byPlace = new Map<string, Map<string, QuotaTally>>()

  constructor(objects: QuotaObjects) {
    this.#objects = objects
  }

  /**
   * Returns how much of a quota the objects at a place use. At the first question, and after the quota's spec has
   * changed, `list` is called for all of them.
   */
  used(quota: ResourceQuota, resource: Resource, place: string, list: () => readonly KubeObject[]): Usage {
    return finished(this.counting(quota, resource, place, list))
  }

  /** Does the same in steps. */
  *counting(
    quota: ResourceQuota,
    resource: Resource,
    place: string,
    list: () => readonly KubeObject[],
  ): Generator<void, Usage> {
    const name = quota.metadata.name ?? ""
    const tallies = this.#byPlace.get(place) ?? new Map<string, QuotaTally>()
    this.#byPlace.set(place, tallies)
    let tally = tallies.get(name)
    if (tally === undefined || !tally.isWhole || !tally.counts(quota)) {
      tally = new QuotaTally(quota, resource, this.#objects)
      tallies.set(name, tally)
      yield* tally.counting(list())
    }
    return tally.used()
  }

  /** Whether the objects at a place are counted. */
  follows(place: string): boolean {
    return this.#byPlace.has(place)
  }

  /** Follows the creation of an object at a place (`old` is undefined), its update, or its deletion. */
  change(place: string, old: KubeObject | undefined, now: KubeObject | undefined): void {
    for (const tally of this.#byPlace.get(place)?.values() ?? []) tally.change(old, now)
  }

  /** Forgets a quota of a namespace that was deleted. */
  forget({ name = "", namespace = "" }: ResourceQuota["metadata"]): void {
    for (const [place, tallies] of this.#byPlace) {
      if (!place.endsWith(`/${namespace}/`)) continue
      tallies.delete(name)
      if (tallies.size === 0) this.#byPlace.delete(place)
    }
  }
  /** Forgets what was counted at all places with this prefix: their next question counts all objects. */
  countAnew(prefix: string): void {
    for (const place of this.#byPlace.keys()) if (place.startsWith(prefix)) this.#byPlace.delete(place)
  }
}
