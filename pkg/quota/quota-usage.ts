import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceQuota } from "../api/core/v1/resourcequota/resourcequota.ts"
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

/** Returns whether a quota applies to this pod: all scopes of the quota must match. */
export function inScope({ spec }: ResourceQuota, pod: Pod): boolean {
  const requirements = [
    ...(spec.scopes ?? []).map((scopeName) => ({
      scopeName: scopeName as string,
      operator: "Exists",
      values: [] as readonly string[],
    })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ]
  return requirements.every(({ scopeName, operator, values = [] }) => {
    switch (scopeName) {
      case "Terminating":
        return pod.spec.activeDeadlineSeconds !== undefined
      case "NotTerminating":
        return pod.spec.activeDeadlineSeconds === undefined
      case "BestEffort":
        return pod.status.qosClass === "BestEffort"
      case "NotBestEffort":
        return pod.status.qosClass !== "BestEffort"
      case "PriorityClass": {
        const name = pod.spec.priorityClassName ?? ""
        return operator === "Exists"
          ? name !== ""
          : operator === "DoesNotExist"
            ? name === ""
            : values.includes(name) === (operator === "In")
      }
      default:
        return false
    }
  })
}
