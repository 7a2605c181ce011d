import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../pkg/apimachinery/json/equal.ts"
import { addQuantities, formatQuantity, fromUnits, type Quantity } from "../../pkg/apimachinery/scalars/quantity.ts"
import { type KubeObject, type Resource } from "../../pkg/apimachinery/resource.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { DeviceClass } from "../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../pkg/api/resource/v1/resourceclaim.ts"
import { keyFrom, splitKey, type Key } from "../../pkg/client/informer.ts"
import { inSteps } from "../../pkg/clock/in-steps.ts"
import { defineController, type Controller, type ReconcileContext } from "../../pkg/controller/controller.ts"
import { DEVICES_OF_CLASS, isOfPodsAndClaims } from "../../pkg/quota/device-usage.ts"
import { firstClaims } from "../../pkg/quota/first-claims.ts"
import type { QuotaObjects } from "../../pkg/quota/quota-objects.ts"
import { QuotaTallies } from "../../pkg/quota/quota-tally.ts"
import { usageOf } from "../../pkg/quota/quota-usage.ts"

/** Reads what usage depends on from informers, which must have synced. */
const knownTo = ({ informers, clock }: ReconcileContext): QuotaObjects => ({
  now: () => clock.now(),
  deviceClass: (name) => informers.of(DeviceClass).get(name),
  pod: (namespace, name) => informers.of(Pod).get(`${namespace}/${name}`),
  firstClaimOf: firstClaims({
    revision: () => informers.of(ResourceClaim).revision,
    list: (namespace) => informers.of(ResourceClaim).list(namespace),
  }),
})

/** Pods and claims come into the scope of a quota, and leave it, though their usage stays the same. */
const hasScopes = ({ group, plural }: Resource): boolean =>
  group === "" && (plural === "pods" || plural === "persistentvolumeclaims")

const isClaims = ({ group, plural }: Resource): boolean =>
  group === ResourceClaim.group && plural === ResourceClaim.plural

/**
 * Returns a function that returns which of the kinds an entry of a quota's `hard` counts. A quota can have 50,000
 * entries, and a cluster thousands of kinds, so the kinds are found by name.
 */
function countingAmong(resources: readonly Resource[]): (entry: string) => readonly Resource[] {
  const byName = Map.groupBy(resources, ({ group, plural }) => (group === "" ? plural : `${plural}.${group}`))
  const named = (name: string): readonly Resource[] => byName.get(name) ?? []
  const claims = resources.filter(isClaims)
  return (entry) => {
    const counted = /^count\/([^.]+(?:\..+)?)$/.exec(entry)
    if (counted !== null) return named(counted[1]!)
    if (entry.startsWith("services.")) return named("services")
    if (entry.endsWith(DEVICES_OF_CLASS)) return claims
    if (isOfPodsAndClaims(entry)) return [...named("pods"), ...claims]
    if (entry === "requests.storage" || entry.includes(".storageclass.storage.k8s.io/"))
      return named("persistentvolumeclaims")
    const plain = entry.includes(".") ? [] : named(entry)
    return plain.length > 0 ? plain : named("pods")
  }
}

/**
 * Writes to each ResourceQuota's status how much of it is used. Admission counts for itself, so this is for users and
 * tools. Only kinds that some quota counts are watched. Source:
 * pkg/controller/resourcequota/resource_quota_controller.go.
 */
export function resourceQuotaController(resources: () => readonly Resource[]): Controller<ResourceQuota> {
  /** By prefix. A kind whose definition was changed is watched anew. */
  const watched = new Map<string, Resource>()
  let enqueue: (key: Key) => void = () => undefined
  let tallies: QuotaTallies

  /** Recounts the quotas of a namespace when the usage of an object has changed. */
  function watch(resource: Resource, context: ReconcileContext): void {
    if (watched.get(resource.prefix) === resource) return
    const { informers } = context
    watched.set(resource.prefix, resource)
    tallies.countAnew(resource.prefix)
    const known = knownTo(context)
    const recount = ({ metadata: { namespace } }: KubeObject): void => {
      for (const quota of informers.of(ResourceQuota).list(namespace)) enqueue(keyFrom(quota.metadata))
    }
    const follow = (old: KubeObject | undefined, now: KubeObject | undefined): void =>
      tallies.change(placeOf(resource, (now ?? old)!.metadata.namespace), old, now)
    informers.of(resource).on({
      added: (object) => {
        follow(undefined, object)
        recount(object)
      },
      deleted: (last) => {
        follow(last, undefined)
        recount(last)
      },
      updated: (object, old) => {
        follow(old, object)
        const usage = (one: KubeObject) => amounts(usageOf(resource, one, known))
        if (hasScopes(resource) || !deepEqual(usage(object), usage(old))) recount(object)
      },
    })
    if (!isClaims(resource)) return
    // Claims are counted by the resources that their classes name.
    const recountAll = (): void => {
      for (const quota of informers.of(ResourceQuota).list()) enqueue(keyFrom(quota.metadata))
    }
    informers.of(DeviceClass).on({ added: recountAll, updated: recountAll, deleted: recountAll })
  }

  return defineController<ResourceQuota>({
    name: "resourcequota-controller",
    reconciles: ResourceQuota,
    start(context, add) {
      enqueue = add
      watched.clear()
      tallies = new QuotaTallies(knownTo(context))
    },
    async reconcile(key, context) {
      const { informers, client } = context
      const quota = informers.of(ResourceQuota).get(key)
      if (quota === undefined) return tallies.forget(splitKey(key))
      const { namespace } = quota.metadata
      const hard = quota.spec.hard ?? {}
      const { clock } = context
      const counted = await inSteps(kindsCounted(Object.keys(hard), resources()), clock)
      for (const resource of counted) {
        watch(resource, context)
        const needed = isClaims(resource) ? [resource, Pod as Resource, DeviceClass as Resource] : [resource]
        for (const one of needed) await informers.of(one).whenSynced()
      }
      const used: Record<string, Quantity> = {}
      for (const resource of counted) {
        const list = () => informers.of(resource).list(namespace)
        const usage = await inSteps(tallies.counting(quota, resource, placeOf(resource, namespace), list), clock)
        for (const [entry, amount] of Object.entries(usage))
          used[entry] = used[entry] === undefined ? amount : addQuantities(used[entry], amount)
      }
      const status = { hard, used: await inSteps(shownUsage(Object.keys(hard), used), clock) }
      if (deepEqual(status, quota.status)) return
      await client.updateStatus(ResourceQuota, { ...quota, status }).catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
    },
  })
}

/** A quota may have 50,000 entries, and the work for each takes a microsecond. */
const ENTRIES_A_STEP = 1000

/** Returns the kinds that any of the entries counts, in steps. */
function* kindsCounted(entries: readonly string[], resources: readonly Resource[]): Generator<void, Set<Resource>> {
  const found = new Set<Resource>()
  const counting = countingAmong(resources)
  for (const [i, entry] of entries.entries()) {
    for (const resource of counting(entry)) found.add(resource)
    if (i % ENTRIES_A_STEP === ENTRIES_A_STEP - 1) yield
  }
  return found
}

/** Returns the usage of each entry as text, in steps. */
function* shownUsage(
  entries: readonly string[],
  used: Readonly<Record<string, Quantity>>,
): Generator<void, Record<string, string>> {
  const shown: [string, string][] = []
  for (const [i, entry] of entries.entries()) {
    shown.push([entry, formatQuantity(used[entry] ?? fromUnits(0))])
    if (i % ENTRIES_A_STEP === ENTRIES_A_STEP - 1) yield
  }
  return Object.fromEntries(shown)
}

const placeOf = ({ prefix }: Resource, namespace = ""): string => `${prefix}${namespace}/`

const amounts = (usage: Readonly<Record<string, Quantity>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(usage).map(([entry, amount]) => [entry, formatQuantity(amount)]))
