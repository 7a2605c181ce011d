import { scaledValue } from "../../../pkg/apimachinery/scalars/intstr.ts"
import type { OwnerReference } from "../../../pkg/apimachinery/meta.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ReplicationController } from "../../../pkg/api/core/v1/replicationcontroller.ts"
import type { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
import type { Informers } from "../../../pkg/client/informer.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"

export interface Expectation {
  /** The number of pods that the owners want. */
  readonly expected: number
  /** How many of them must be healthy. */
  readonly desired: number
  /** Whether some pods have no controller, and cannot be counted. */
  readonly unmanaged: boolean
}

/**
 * Returns what a budget demands of its pods. Percentages and maxUnavailable refer to the number that the pods' owners
 * want. Source: getExpectedPodCount.
 */
export function expectationOf(
  { spec: { minAvailable, maxUnavailable } }: PodDisruptionBudget,
  pods: readonly Pod[],
  context: { readonly informers: Informers },
): Expectation {
  if (maxUnavailable === undefined && typeof minAvailable === "number")
    return { expected: pods.length, desired: minAvailable, unmanaged: false }
  if (maxUnavailable === undefined && minAvailable === undefined) return { expected: 0, desired: 0, unmanaged: false }
  const scales = new Map<string, number>()
  for (const pod of pods) {
    const owner = controllerOf(pod)
    if (owner === undefined) continue
    const scale = scaleOf(owner, pod, context.informers)
    scales.set(scale.uid, scale.replicas)
  }
  const expected = [...scales.values()].reduce((sum, replicas) => sum + replicas, 0)
  const unmanaged = pods.some((pod) => controllerOf(pod) === undefined)
  if (maxUnavailable !== undefined)
    return { expected, unmanaged, desired: Math.max(0, expected - scaledValue(maxUnavailable, expected, "up")) }
  return { expected, unmanaged, desired: scaledValue(minAvailable!, expected, "up") }
}

function scaleOf(
  owner: OwnerReference,
  pod: Pod,
  informers: Informers,
): { readonly uid: string; readonly replicas: number } {
  const resource = [ReplicaSet, ReplicationController, StatefulSet].find(
    ({ apiVersion, kind }) => apiVersion === owner.apiVersion && kind === owner.kind,
  )
  if (resource === undefined)
    throw new Error(
      `${owner.kind} ${owner.name} (${owner.apiVersion}), the controller of pod ` +
        `${JSON.stringify(pod.metadata.name)}, does not implement the scale subresource`,
    )
  const key = (name: string): string => `${pod.metadata.namespace}/${name}`
  const object = informers.of<ReplicaSet | ReplicationController | StatefulSet>(resource).get(key(owner.name))
  if (object === undefined || object.metadata.uid !== owner.uid)
    throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`)
  // The Deployment of a ReplicaSet has the number for all of its ReplicaSets.
  const above = controllerOf(object)
  const deployment = above?.kind === "Deployment" ? informers.of(Deployment).get(key(above.name)) : undefined
  if (deployment !== undefined && deployment.metadata.uid === above!.uid)
    return { uid: above!.uid, replicas: deployment.spec.replicas }
  return { uid: owner.uid, replicas: object.spec.replicas }
}
