import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../pkg/apimachinery/json/equal.ts"
import { addQuantities, formatQuantity, fromUnits, type Quantity } from "../../pkg/apimachinery/scalars/quantity.ts"
import { isKind, type KubeObject, type Resource } from "../../pkg/apimachinery/resource.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { keyFrom, type Key } from "../../pkg/client/informer.ts"
import { defineController, type Controller, type ReconcileContext } from "../../pkg/controller/controller.ts"
import { inScope, usageOf } from "../../pkg/quota/quota-usage.ts"

const isPods = ({ group, plural }: Resource): boolean => group === "" && plural === "pods"

/** Returns which of the kinds an entry of a quota's `hard` counts. */
function countedBy(entry: string, resources: readonly Resource[]): readonly Resource[] {
  const counted = /^count\/([^.]+)(?:\.(.+))?$/.exec(entry)
  if (counted !== null)
    return resources.filter(({ group, plural }) => plural === counted[1] && group === (counted[2] ?? ""))
  const core = (name: string): readonly Resource[] =>
    resources.filter(({ group, plural }) => group === "" && plural === name)
  if (entry.startsWith("services.")) return core("services")
  if (entry === "requests.storage" || entry.includes(".storageclass.storage.k8s.io/"))
    return core("persistentvolumeclaims")
  const plain = core(entry)
  return plain.length > 0 ? plain : core("pods")
}

/**
 * Writes to each ResourceQuota's status how much of it is used. Admission counts for itself, so this is for users and
 * tools. Only kinds that some quota counts are watched. Source:
 * pkg/controller/resourcequota/resource_quota_controller.go.
 */
export function resourceQuotaController(resources: () => readonly Resource[]): Controller<ResourceQuota> {
  const watched = new Set<string>()
  let enqueue: (key: Key) => void = () => undefined

  /** Recounts the quotas of a namespace when the usage of an object has changed. */
  function watch(resource: Resource, { informers }: ReconcileContext): void {
    if (watched.has(resource.prefix)) return
    watched.add(resource.prefix)
    const recount = ({ metadata: { namespace } }: KubeObject): void => {
      for (const quota of informers.of(ResourceQuota).list(namespace)) enqueue(keyFrom(quota.metadata))
    }
    informers.of(resource).on({
      added: recount,
      deleted: recount,
      updated: (object, old) => {
        if (!deepEqual(amounts(usageOf(resource, object)), amounts(usageOf(resource, old))) || isPods(resource))
          recount(object)
      },
    })
  }

  return defineController<ResourceQuota>({
    name: "resourcequota-controller",
    reconciles: ResourceQuota,
    start: (_context, add) => void (enqueue = add),
    async reconcile(key, context) {
      const { informers, client } = context
      const quota = informers.of(ResourceQuota).get(key)
      if (quota === undefined) return
      const hard = quota.spec.hard ?? {}
      const used: Record<string, Quantity> = {}
      for (const resource of new Set(Object.keys(hard).flatMap((entry) => countedBy(entry, resources())))) {
        watch(resource, context)
        await informers.of(resource).whenSynced()
        for (const object of informers.of(resource).list(quota.metadata.namespace)) {
          if (isKind(Pod, object) && !inScope(quota, object)) continue
          for (const [entry, amount] of Object.entries(usageOf(resource, object)))
            used[entry] = used[entry] === undefined ? amount : addQuantities(used[entry], amount)
        }
      }
      const status = {
        hard,
        used: Object.fromEntries(
          Object.keys(hard).map((entry) => [entry, formatQuantity(used[entry] ?? fromUnits(0))]),
        ),
      }
      if (deepEqual(status, quota.status)) return
      await client.updateStatus(ResourceQuota, { ...quota, status }).catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
    },
  })
}

const amounts = (usage: Readonly<Record<string, Quantity>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(usage).map(([entry, amount]) => [entry, formatQuantity(amount)]))
