/**
 * What a namespace may hold and ask for at most. Source: apiserver pkg/admission/plugin/resourcequota,
 * pkg/quota/v1/evaluator/core. Differs from upstream: usage is counted from the objects that are there and those on
 * their way into the store, instead of being kept in the quota's status by a controller; so it cannot lag, and deleted
 * objects count no more at once.
 */
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../../../pkg/api/core/v1/resourcequota.ts"
import { forbidden, qualified } from "../../../../pkg/apimachinery/errors.ts"
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  quantity,
  type Quantity,
} from "../../../../pkg/apimachinery/quantity.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"
import { inScope, usageOf } from "../../../../pkg/quota/quota-usage.ts"

export function resourceQuota({ objects }: AdmissionContext): AdmissionPlugin {
  /** Objects that have been let through and are not in the store yet. */
  const coming = new Map<AdmissionAttributes, KubeObject>()
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
        if (resource.plural === "pods" && resource.group === "" && !inScope(quota, object as Pod)) continue
        checkLimit(attributes, quota, wanted, before)
      }
      if (options.dryRun !== true && old === undefined) coming.set(attributes, object)
    },
    settled: (attributes) => void coming.delete(attributes),
  }

  function checkLimit(
    { resource, name, object, namespace, operation }: AdmissionAttributes,
    quota: ResourceQuota,
    wanted: Usage,
    before: Usage,
  ): void {
    const hard = quota.spec.hard ?? {}
    const limited = Object.keys(hard).filter((key) => wanted[key] !== undefined)
    if (resource.plural === "pods" && operation === "CREATE") {
      const lacking = Object.keys(hard).filter((key) => MUST_BE_GIVEN.has(key) && wanted[key] === undefined)
      if (lacking.length > 0)
        throw forbidden(
          resource,
          name,
          `failed quota: ${quota.metadata.name}: must specify ${lacking
            .sort()
            .map((key) => `${key} for: ${(object as Pod).spec.containers.map((container) => container.name).join(",")}`)
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
      if (resource.plural === "pods" && resource.group === "" && !inScope(quota, object as Pod)) return
      for (const [key, amount] of Object.entries(usageOf(resource, object)))
        used[key] = addQuantities(used[key] ?? ZERO, amount)
    }
    const stored = objects.list(resource, namespace)
    stored.forEach(add)
    if (coming.size === 0) return used
    // Who brought an object learns of its commit a little after the store shows it.
    const there = new Set(stored.map(({ metadata }) => metadata.uid))
    for (const [{ resource: other, namespace: place }, object] of coming)
      if (qualified(other) === qualified(resource) && place === namespace && !there.has(object.metadata.uid))
        add(object)
    return used
  }
}

type Usage = Readonly<Record<string, Quantity>>
const ZERO: Quantity = { nano: 0n, format: "DecimalSI" }
const minus = (a: Quantity, b: Quantity | undefined): Quantity =>
  b === undefined ? a : { nano: a.nano - b.nano, format: a.format }

/** A pod under such a limit has to say what it asks for. */
const MUST_BE_GIVEN = new Set(["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"])
