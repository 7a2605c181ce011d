import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue } from "../../../apimachinery/validation/field-errors.ts"

/**
 * Validates the statuses of workloads. Source: ValidateDeploymentStatus and similar functions in
 * pkg/apis/apps/validation.
 */

/**
 * Checks that no more pods are ready, available and so on than exist. `ready` is upstream's name of the ready ones in
 * its message.
 */
export function replicaFaults<
  S extends {
    readonly replicas?: number | undefined
    readonly readyReplicas?: number | undefined
    readonly availableReplicas?: number | undefined
  },
>(status: S, counts: readonly (keyof S & string)[], ready: string): readonly Cause[] {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  const tooMany = counts.flatMap((name) => {
    const count = status[name]
    return typeof count === "number" && count > replicas
      ? [invalidValue(`status.${name}`, count, "cannot be greater than status.replicas")]
      : []
  })
  return availableReplicas > readyReplicas
    ? [...tooMany, invalidValue("status.availableReplicas", availableReplicas, `cannot be greater than ${ready}`)]
    : tooMany
}

/** Checks that collisionCount does not decrease. */
export function collisionFaults(
  { collisionCount = 0 }: Collisions,
  { collisionCount: before = 0 }: Collisions,
): readonly Cause[] {
  return collisionCount < before ? [invalidValue("status.collisionCount", collisionCount, "cannot be decremented")] : []
}
interface Collisions {
  readonly collisionCount?: number | undefined
}
