/**
 * Refuses writes that exceed a ResourceQuota of the namespace. Source: apiserver pkg/admission/plugin/resourcequota,
 * pkg/quota/v1/evaluator/core. Differs from upstream: upstream compares with the quota's status, which a controller
 * updates with a delay. Here usage is counted from the stored objects and from admitted writes that are not committed
 * yet, so a deleted object stops counting at once. The objects of a namespace are counted once, and then their changes.
 *
 * Where servers share the store, the new usage is written into the quota's status in the transaction of the object. So
 * of two servers that have counted the same quota only one can write, and the other counts again. Upstream writes the
 * status before the object.
 */
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { ApiError, forbidden, qualified } from "../../../../pkg/apimachinery/errors.ts"
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  quantity,
  type Quantity,
} from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { isKind, type KubeObject, type Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { DeviceClass } from "../../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../../pkg/api/resource/v1/resourceclaim.ts"
import { isOfPodsAndClaims } from "../../../../pkg/quota/device-usage.ts"
import { firstClaims } from "../../../../pkg/quota/first-claims.ts"
import type { QuotaObjects, Usage } from "../../../../pkg/quota/quota-objects.ts"
import { inScope } from "../../../../pkg/quota/quota-scope.ts"
import { QuotaTallies } from "../../../../pkg/quota/quota-tally.ts"
import { usageOf } from "../../../../pkg/quota/quota-usage.ts"
import { KeyQueue } from "../../../../pkg/storage/replicated/key-queue.ts"
import type { Write } from "../../../../pkg/storage/storage.ts"
import { storageKey, storagePrefix } from "../../cacher/view.ts"

/** What is noted about an admitted write until it is committed. */
interface SharedCount {
  /** Lets the next write of the namespace count. */
  readonly leave: () => void
  /** The quotas with the usage that the write leads to. */
  readonly writes: readonly Write[]
}

/**
 * A resource that may only be used where a quota limits its use. Source: apiserver
 * pkg/admission/plugin/resourcequota/apis/resourcequota/types.go.
 */
export interface LimitedResource {
  readonly apiGroup?: string | undefined
  /** The plural name. */
  readonly resource?: string | undefined
  /** Parts of the names of what is limited: `.storageclass.storage.k8s.io/requests.storage`. */
  readonly matchContains?: readonly string[] | undefined
  readonly matchScopes?: NonNullable<ResourceQuota["spec"]["scopeSelector"]>["matchExpressions"]
}

export function resourceQuota(
  { objects, storage, clock }: AdmissionContext,
  limited: readonly LimitedResource[] = [],
): AdmissionPlugin {
  const known: QuotaObjects = {
    now: () => clock.now(),
    deviceClass: (name) => objects.get(DeviceClass, { name }),
    pod: (namespace, name) => objects.get(Pod, { namespace, name }),
    firstClaimOf: firstClaims({
      revision: () => storage.revision,
      list: (namespace) => objects.list(ResourceClaim, namespace),
    }),
  }
  const tallies = new QuotaTallies(known)
  const quotas = storagePrefix(ResourceQuota as Resource, undefined)
  storage.subscribe((events) => {
    for (const { key, type, stored, previous } of events) {
      const place = key.slice(0, key.lastIndexOf("/") + 1)
      if (tallies.follows(place))
        try {
          tallies.change(place, previous?.object, type === "delete" ? undefined : stored.object)
        } catch {
          // The object cannot be read: another server may have encrypted it with a key that is not here yet.
          tallies.countAnew(place)
        }
      if (type === "delete" && place.startsWith(quotas)) tallies.forget(stored.object.metadata)
    }
  })
  /** Admitted objects whose writes are not committed yet. */
  const admitted = new Map<AdmissionAttributes, KubeObject>()
  /** Where servers share the store, one write of a namespace with quotas is under way here at a time. */
  const turns = storage.freshen === undefined ? undefined : new KeyQueue()
  const counts = new Map<AdmissionAttributes, SharedCount>()
  return {
    name: "ResourceQuota",
    operations: ["CREATE", "UPDATE"],
    validate(attributes) {
      const { resource, subresource, namespace, object, options } = attributes
      if (
        namespace === undefined ||
        namespace === "" ||
        (subresource !== undefined && subresource !== "resize") ||
        object === undefined
      )
        return
      if (objects.list(ResourceQuota, namespace).length === 0 && limited.length === 0) return
      if (turns === undefined || options.dryRun === true || Object.keys(usageOf(resource, object, known)).length === 0)
        return void check(attributes, namespace, object)
      return checkInTurn(turns, attributes, namespace, object)
    },
    settled(attributes) {
      admitted.delete(attributes)
      counts.get(attributes)?.leave()
      counts.delete(attributes)
    },
    alongside: (attributes) => counts.get(attributes)?.writes ?? [],
  }

  /** Waits until no other write of the namespace is under way here: of several, all but one would have to count again. */
  async function checkInTurn(
    queue: KeyQueue,
    attributes: AdmissionAttributes,
    namespace: string,
    object: KubeObject,
  ): Promise<void> {
    const { turn, leave } = queue.enter([namespace])
    await turn
    try {
      const writes = check(attributes, namespace, object).map(([quota, used]) => usageWrite(quota, used))
      counts.set(attributes, { leave, writes })
    } catch (err) {
      leave()
      throw err
    }
  }

  /** Returns the quotas whose usage grows, with that usage as it will be. @throws ApiError Forbidden */
  function check(
    attributes: AdmissionAttributes,
    namespace: string,
    object: KubeObject,
  ): readonly (readonly [ResourceQuota, Usage])[] {
    const { resource, old, options } = attributes
    const wanted = usageOf(resource, object, known)
    const before = old === undefined ? {} : usageOf(resource, old, known)
    if (limited.length > 0) checkCovered(attributes, objects.list(ResourceQuota, namespace), object, wanted, before)
    const growing = objects.list(ResourceQuota, namespace).flatMap((quota) => {
      if (!inScope(quota, object)) return []
      // An object that comes into the quota's scope by an update counts in full.
      const used = usedAfter(attributes, quota, wanted, old !== undefined && inScope(quota, old) ? before : {})
      return Object.keys(used).length === 0 ? [] : [[quota, used] as const]
    })
    if (options.dryRun !== true && old === undefined) admitted.set(attributes, object)
    return growing
  }

  /** Refuses the use of what is limited and has no quota. Source: resourcequota/controller.go CheckRequest. */
  function checkCovered(
    { resource, name }: AdmissionAttributes,
    quotas: readonly ResourceQuota[],
    object: KubeObject,
    wanted: Usage,
    before: Usage,
  ): void {
    if (Object.keys(wanted).every((key) => minus(wanted[key]!, before[key]).nano === 0n)) return
    const covered = new Set(
      quotas.filter((quota) => inScope(quota, object)).flatMap(({ spec }) => Object.keys(spec.hard ?? {})),
    )
    const parts = limited
      .filter(({ apiGroup = "", resource: plural }) => apiGroup === resource.group && plural === resource.plural)
      .flatMap(({ matchContains = [] }) => matchContains)
    const uncovered = Object.keys(wanted).filter(
      (key) => wanted[key]!.nano > 0n && !covered.has(key) && parts.some((part) => key.includes(part)),
    )
    if (uncovered.length > 0)
      throw forbidden(resource, name, `insufficient quota to consume: ${uncovered.sort().join(",")}`)
    const scopes = limited.flatMap(({ matchScopes = [] }) => matchScopes).filter((scope) => matches(scope, object))
    const known = new Set(
      quotas
        .flatMap(({ spec }) => [
          ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" }) as const),
          ...(spec.scopeSelector?.matchExpressions ?? []),
        ])
        .filter((scope) => matches(scope, object))
        .map(({ scopeName }) => scopeName as string),
    )
    const open = scopes.filter(({ scopeName }) => !known.has(scopeName))
    if (open.length === 0) return
    const shown = open.map(({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(" ")}]}`)
    // Upstream answers without a reason too.
    throw new ApiError("Unknown", `insufficient quota to match these scopes: [${shown.join(" ")}]`)
  }

  function usageWrite(quota: ResourceQuota, used: Usage): Write {
    const { status } = quota
    const texts = Object.entries(used).map(([key, amount]) => [key, formatQuantity(amount)] as const)
    return {
      key: storageKey(ResourceQuota, quota.metadata),
      object: { ...quota, status: { ...status, used: { ...status.used, ...Object.fromEntries(texts) } } } as KubeObject,
      expected: Number(quota.metadata.resourceVersion),
      time: clock.now(),
      author: "system:apiserver",
    }
  }

  /** Returns the usage that a quota limits and that grows, as it will be. @throws ApiError Forbidden */
  function usedAfter(
    { resource, name, object, namespace, operation }: AdmissionAttributes,
    quota: ResourceQuota,
    wanted: Usage,
    before: Usage,
  ): Usage {
    const hard = quota.spec.hard ?? {}
    const limited = Object.keys(hard).filter((key) => wanted[key] !== undefined)
    if (isKind(Pod, object) && operation === "CREATE") {
      const names = object.spec.containers.map(({ name }) => name).join(",")
      const lacking = Object.keys(hard).filter((key) => MUST_BE_GIVEN.has(key) && wanted[key] === undefined)
      if (lacking.length > 0)
        throw forbidden(
          resource,
          name,
          `failed quota: ${quota.metadata.name}: must specify ${lacking
            .sort()
            .map((key) => `${key} for: ${names}`)
            .join("; ")}`,
        )
    }
    const growing = limited.filter((key) => minus(wanted[key]!, before[key]).nano > 0n)
    if (growing.length === 0) return {}
    const used = usedIn(resource, namespace!, quota, growing)
    const after = Object.fromEntries(
      growing.map((key) => [key, addQuantities(used[key] ?? ZERO, minus(wanted[key]!, before[key]))]),
    )
    const over = growing.filter((key) => compareQuantities(after[key]!, quantity(hard[key]!)) > 0).sort()
    if (over.length === 0) return after
    const text = (of: (key: string) => string) => over.map((key) => `${key}=${of(key)}`).join(",")
    throw forbidden(
      resource,
      name,
      `exceeded quota: ${quota.metadata.name}, requested: ` +
        `${text((key) => formatQuantity(minus(wanted[key]!, before[key])))}, used: ` +
        `${text((key) => formatQuantity(used[key] ?? ZERO))}, limited: ${text((key) => hard[key]!)}`,
    )
  }

  function usedIn(resource: Resource, namespace: string, quota: ResourceQuota, entries: readonly string[]): Usage {
    const used: Record<string, Quantity> = {}
    const add = (usage: Usage) => {
      for (const [key, amount] of Object.entries(usage)) used[key] = addQuantities(used[key] ?? ZERO, amount)
    }
    const resources = entries.some(isOfPodsAndClaims) ? [Pod as Resource, ResourceClaim as Resource] : [resource]
    for (const counted of resources) {
      const place = storagePrefix(counted, namespace)
      add(tallies.used(quota, counted, place, () => storage.list(place).map(({ object }) => object)))
      for (const [{ resource: other, namespace: elsewhere }, object] of admitted) {
        if (qualified(other) !== qualified(counted) || elsewhere !== namespace || !inScope(quota, object)) continue
        // The store shows an object a little before `settled` is called, so an object may be in both.
        const stored = storage.get(storageKey(counted, object.metadata))
        if (stored?.object.metadata.uid !== object.metadata.uid) add(usageOf(counted, object, known))
      }
    }
    return used
  }
}

type Scope = NonNullable<LimitedResource["matchScopes"]>[number]
const matches = (scope: Scope, object: KubeObject): boolean =>
  inScope({ spec: { scopeSelector: { matchExpressions: [scope] } } } as unknown as ResourceQuota, object)

const ZERO: Quantity = { nano: 0n, format: "DecimalSI" }
const minus = (a: Quantity, b: Quantity | undefined): Quantity =>
  b === undefined ? a : { nano: a.nano - b.nano, format: a.format }

/** A quota on one of these refuses pods in which no container sets the request or limit. */
const MUST_BE_GIVEN = new Set(["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"])
