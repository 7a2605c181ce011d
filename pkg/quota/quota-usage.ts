import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceQuota } from "../api/core/v1/resourcequota/resourcequota.ts"
import { Service } from "../api/core/v1/service/service.ts"
import {
  addQuantities,
  compareQuantities,
  fromUnits,
  quantity,
  type Quantity,
} from "../apimachinery/scalars/quantity.ts"
import { isKind, type KubeObject, type Resource } from "../apimachinery/resource.ts"

export type Usage = Readonly<Record<string, Quantity>>
const ONE = fromUnits(1)

/** Kinds that a quota counts under their plain name too. */
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
 * What one object takes of a quota, by the names that a quota's `hard` may have. Source: pkg/quota/v1/evaluator/core.
 */
export function usageOf({ group, plural }: Resource, object: KubeObject): Usage {
  const counted: Record<string, Quantity> = { [`count/${group === "" ? plural : `${plural}.${group}`}`]: ONE }
  if (group !== "") return counted
  if (isKind(Pod, object)) return { ...counted, ...podUsage(object) }
  if (COUNTED.has(plural)) counted[plural] = ONE
  if (isKind(Service, object)) Object.assign(counted, serviceUsage(object))
  if (isKind(PersistentVolumeClaim, object)) Object.assign(counted, claimUsage(object))
  return counted
}

function podUsage(pod: Pod): Usage {
  // A pod that has ended takes nothing any more, but is still an object.
  if (pod.status.phase === "Succeeded" || pod.status.phase === "Failed") return {}
  const used: Record<string, Quantity> = { pods: ONE }
  for (const kind of ["requests", "limits"] as const) {
    for (const [name, amount] of Object.entries(total(pod, kind))) {
      used[`${kind}.${name}`] = amount
      if (
        kind === "requests" &&
        (name === "cpu" || name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-"))
      )
        used[name] = amount
    }
  }
  return used
}

/** All containers together or the largest init container, whichever is more, and what the pod itself costs. */
function total({ spec }: Pod, kind: "requests" | "limits"): Readonly<Record<string, Quantity>> {
  const sum = Object.create(null) as Record<string, Quantity>
  const add = (name: string, amount: string) =>
    (sum[name] = sum[name] === undefined ? quantity(amount) : addQuantities(sum[name], quantity(amount)))
  for (const { resources } of spec.containers)
    for (const [name, amount] of Object.entries(resources[kind] ?? {})) add(name, amount)
  for (const { resources } of spec.initContainers ?? [])
    for (const [name, amount] of Object.entries(resources[kind] ?? {})) {
      if (sum[name] === undefined || compareQuantities(quantity(amount), sum[name]) > 0) sum[name] = quantity(amount)
    }
  for (const [name, amount] of Object.entries(spec.overhead ?? {}))
    if (kind === "requests" || sum[name] !== undefined) add(name, amount)
  return sum
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

/** Whether a quota is about this pod: all its scopes must match. */
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
