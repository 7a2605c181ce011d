import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../api/core/v1/pod/pod.ts"
import { Service } from "../api/core/v1/service/service.ts"
import { ResourceClaim } from "../api/resource/v1/resourceclaim.ts"
import { fromUnits, quantity, type Quantity } from "../apimachinery/scalars/quantity.ts"
import { isKind, type KubeObject, type Resource } from "../apimachinery/resource.ts"
import { devicesUsage } from "./device-usage.ts"
import { podUsage } from "./pod-usage.ts"
import type { QuotaObjects, Usage } from "./quota-objects.ts"

const ONE = fromUnits(1)

/** Kinds whose objects a quota also counts under their plural name without a group. */
const COUNTED = new Set([
  "pods",
  "services",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
])

/**
 * Returns how much one object uses, by the names that a quota's `hard` may have. Source: pkg/quota/v1/evaluator/core.
 */
export function usageOf({ group, plural }: Resource, object: KubeObject, objects: QuotaObjects): Usage {
  const counted: Record<string, Quantity> = { [`count/${group === "" ? plural : `${plural}.${group}`}`]: ONE }
  if (isKind(ResourceClaim, object)) return { ...counted, ...devicesUsage(object, objects) }
  if (group !== "") return counted
  if (isKind(Pod, object)) return { ...counted, ...podUsage(object, objects.now()) }
  if (COUNTED.has(plural)) counted[plural] = ONE
  if (isKind(Service, object)) Object.assign(counted, serviceUsage(object))
  if (isKind(PersistentVolumeClaim, object)) Object.assign(counted, claimUsage(object))
  return counted
}

function serviceUsage({ spec }: Service): Usage {
  const nodePorts =
    spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false)
      ? (spec.ports ?? []).length
      : 0
  return {
    ...(nodePorts > 0 ? { "services.nodeports": fromUnits(nodePorts) } : {}),
    ...(spec.type === "LoadBalancer" ? { "services.loadbalancers": ONE } : {}),
  }
}

function claimUsage({ spec }: PersistentVolumeClaim): Usage {
  const storage = spec.resources?.requests?.["storage"]
  const prefix = spec.storageClassName ? `${spec.storageClassName}.storageclass.storage.k8s.io/` : undefined
  return {
    ...(storage === undefined ? {} : { "requests.storage": quantity(storage) }),
    ...(prefix === undefined
      ? {}
      : {
          [`${prefix}persistentvolumeclaims`]: ONE,
          ...(storage === undefined ? {} : { [`${prefix}requests.storage`]: quantity(storage) }),
        }),
  }
}
