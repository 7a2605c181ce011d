/**
 * Refuses writes that exceed a ResourceQuota of the namespace. Source: apiserver pkg/admission/plugin/resourcequota,
 * pkg/quota/v1/evaluator/core. Differs from upstream: upstream compares with the quota's status, which a controller
 * updates with a delay. Here usage is counted from the stored objects and from admitted writes that are not committed
 * yet, so a deleted object stops counting at once.
 */
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { forbidden, qualified } from "../../../../pkg/apimachinery/errors.ts"
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
import { inScope, usageOf } from "../../../../pkg/quota/quota-usage.ts"

export function resourceQuota({ objects }: AdmissionContext): AdmissionPlugin {
  /** Admitted objects whose writes are not committed yet. */
  const admitted = new Map<AdmissionAttributes, KubeObject>()
  return {
    name: "ResourceQuota",
    operations: ["CREATE", "UPDATE"],
    validate(attributes) {
      const { resource, subresource, namespace, object, old, options } = attributes
      if (
        namespace === undefined ||
        namespace === "" ||
        (subresource !== undefined && subresource !== "resize") ||
        object === undefined
      )
        return
      const quotas = objects.list(ResourceQuota, namespace)
      if (quotas.length === 0) return
      const wanted = usageOf(resource, object)
      const before = old === undefined ? {} : usageOf(resource, old)
      for (const quota of quotas) {
        if (isKind(Pod, object) && !inScope(quota, object)) continue
        checkLimit(attributes, quota, wanted, before)
      }
      if (options.dryRun !== true && old === undefined) admitted.set(attributes, object)
    },
    settled: (attributes) => void admitted.delete(attributes),
  }

  function checkLimit(
    { resource, name, object, namespace, operation }: AdmissionAttributes,
    quota: ResourceQuota,
    wanted: Usage,
    before: Usage,
  ): void {
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
    if (limited.length === 0) return
    const used = usedIn(resource, namespace!, quota)
    const over = limited
      .filter((key) => {
        const more = minus(wanted[key]!, before[key])
        return more.nano > 0n && compareQuantities(addQuantities(used[key] ?? ZERO, more), quantity(hard[key]!)) > 0
      })
      .sort()
    if (over.length === 0) return
    const text = (of: (key: string) => string) => over.map((key) => `${key}=${of(key)}`).join(",")
    throw forbidden(
      resource,
      name,
      `exceeded quota: ${quota.metadata.name}, requested: ` +
        `${text((key) => formatQuantity(minus(wanted[key]!, before[key])))}, used: ` +
        `${text((key) => formatQuantity(used[key] ?? ZERO))}, limited: ${text((key) => hard[key]!)}`,
    )
  }

  function usedIn(resource: Resource, namespace: string, quota: ResourceQuota): Usage {
    const used: Record<string, Quantity> = {}
    const add = (object: KubeObject) => {
      if (isKind(Pod, object) && !inScope(quota, object)) return
      for (const [key, amount] of Object.entries(usageOf(resource, object)))
        used[key] = addQuantities(used[key] ?? ZERO, amount)
    }
    const stored = objects.list(resource, namespace)
    stored.forEach(add)
    if (admitted.size === 0) return used
    // The store shows an object a little before `settled` is called, so an object may be in both.
    const storedUids = new Set(stored.map(({ metadata }) => metadata.uid))
    for (const [{ resource: other, namespace: place }, object] of admitted)
      if (qualified(other) === qualified(resource) && place === namespace && !storedUids.has(object.metadata.uid))
        add(object)
    return used
  }
}

type Usage = Readonly<Record<string, Quantity>>
const ZERO: Quantity = { nano: 0n, format: "DecimalSI" }
const minus = (a: Quantity, b: Quantity | undefined): Quantity =>
  b === undefined ? a : { nano: a.nano - b.nano, format: a.format }

/** A quota on one of these refuses pods in which no container sets the request or limit. */
const MUST_BE_GIVEN = new Set(["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"])
