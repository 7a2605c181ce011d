import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

/** The fields by which objects of any kind tell how far they are. */
interface Telling {
  readonly metadata: {
    readonly generation?: number | undefined
    readonly deletionTimestamp?: string | undefined
    readonly ownerReferences?: readonly unknown[] | undefined
  }
  readonly spec?: {
    readonly replicas?: number
    readonly updateStrategy?: { readonly rollingUpdate?: { readonly partition?: number } }
  }
  readonly status?: {
    readonly observedGeneration?: number
    readonly phase?: string
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly updatedReplicas?: number
    readonly availableReplicas?: number
    readonly desiredNumberScheduled?: number
    readonly updatedNumberScheduled?: number
    readonly numberAvailable?: number
    readonly conditions?: readonly Condition[]
  }
}

type Rule = (object: Telling) => string | undefined

/** By kind; every other is ready by the first of CONDITIONS that it has. */
const RULES: Readonly<Record<string, Rule>> = {
  "apps/v1 Deployment": ({ spec, status = {} }) => {
    const { replicas: wanted = 1 } = spec ?? {}
    const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status
    return (
      missing(updatedReplicas, wanted, "updated") ??
      (replicas > updatedReplicas ? `${replicas - updatedReplicas} old replicas are still there` : undefined) ??
      missing(availableReplicas, updatedReplicas, "available")
    )
  },
  "apps/v1 StatefulSet": ({ spec, status = {} }) => {
    const { replicas: wanted = 1, updateStrategy } = spec ?? {}
    const { readyReplicas = 0, updatedReplicas = 0 } = status
    const partition = updateStrategy?.rollingUpdate?.partition ?? 0
    return missing(readyReplicas, wanted, "ready") ?? missing(updatedReplicas, wanted - partition, "updated")
  },
  "apps/v1 DaemonSet": ({ status = {} }) => {
    const { observedGeneration, desiredNumberScheduled = 0, updatedNumberScheduled = 0, numberAvailable = 0 } = status
    if (observedGeneration === undefined) return "no controller has seen it yet"
    return (
      missing(updatedNumberScheduled, desiredNumberScheduled, "updated") ??
      missing(numberAvailable, desiredNumberScheduled, "available")
    )
  },
  "apps/v1 ReplicaSet": ({ spec, status }) => missing(status?.readyReplicas ?? 0, spec?.replicas ?? 1, "ready"),
  "v1 ReplicationController": ({ spec, status }) => missing(status?.readyReplicas ?? 0, spec?.replicas ?? 1, "ready"),
  "v1 PersistentVolumeClaim": ({ status }) => unlessPhase("Bound", status?.phase),
  "v1 Namespace": ({ status }) => unlessPhase("Active", status?.phase),
}

const CONDITIONS = ["Ready", "Available", "Complete", "Established"]

/**
 * Returns why an object is not ready; undefined when it is. Workloads are ready when their rollout is complete, as
 * `kubectl rollout status` has it; a Job when it is complete. Source: kubectl pkg/polymorphichelpers/rollout_status.go.
 */
export function whyNotReady(object: KubeObject): string | undefined {
  const telling = object as Telling
  const { metadata, status } = telling
  if (metadata.deletionTimestamp !== undefined) return "it is being deleted"
  if ((status?.observedGeneration ?? Infinity) < (metadata.generation ?? 0))
    return `its status is of generation ${status?.observedGeneration}, and it is at ${metadata.generation}`
  return (RULES[`${object.apiVersion} ${object.kind}`] ?? byCondition)(telling)
}

/**
 * Returns why an object can never become ready: a Job that has failed, or a pod that has ended and that no controller
 * may replace by another of its name. Undefined while it can.
 */
export function whyNeverReady(object: KubeObject): string | undefined {
  const { metadata, status } = object as Telling
  const kind = `${object.apiVersion} ${object.kind}`
  const failed = kind === "batch/v1 Job" ? status?.conditions?.find(isFailure) : undefined
  if (failed !== undefined) return `it has failed${inBrackets(failed)}`
  const isAlone = (metadata.ownerReferences ?? []).length === 0
  return kind === "v1 Pod" && isAlone && (status?.phase === "Failed" || status?.phase === "Succeeded")
    ? `it has ended, and its phase is ${status.phase}`
    : undefined
}

const isFailure = ({ type, status }: Condition): boolean => type === "Failed" && status === "True"

const missing = (there: number, wanted: number, what: string): string | undefined =>
  there < wanted ? `${there} of ${wanted} replicas are ${what}` : undefined

const unlessPhase = (wanted: string, phase = "absent"): string | undefined =>
  phase === wanted ? undefined : `its phase is ${phase}`

function inBrackets({ reason, message }: Condition): string {
  const why = [reason, message].filter((part) => part !== undefined && part !== "").join(": ")
  return why === "" ? "" : ` (${why})`
}

function byCondition({ status }: Telling): string | undefined {
  for (const type of CONDITIONS) {
    const condition = status?.conditions?.find((one) => one.type === type)
    if (condition?.status === "True") return undefined
    if (condition !== undefined) {
      return `its condition ${type} is ${condition.status}${inBrackets(condition)}`
    }
  }
  return `it has none of the conditions ${CONDITIONS.join(", ")}`
}
