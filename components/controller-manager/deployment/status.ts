import type { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { timestamp, type Clock } from "../../../pkg/clock/clock.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { all, availableReplicas, bounds, terminatingReplicas, type ReplicaSets } from "./replicasets.ts"

export type DeploymentStatus = Deployment["status"]
export type DeploymentCondition = NonNullable<DeploymentStatus["conditions"]>[number]

export interface RolloutContext extends ReconcileContext {
  /** Whether the status has `terminatingReplicas`. */
  readonly countsTerminating: boolean
}

/** Source of this file: pkg/controller/deployment/sync.go calculateStatus, progress.go, util/deployment_util.go. */

export function statusOf(
  deployment: Deployment,
  sets: ReplicaSets,
  { clock, countsTerminating }: Pick<RolloutContext, "clock" | "countsTerminating">,
): DeploymentStatus {
  const everything = all(sets)
  const sum = (of: (rs: ReplicaSet) => number | undefined) => everything.reduce((total, rs) => total + (of(rs) ?? 0), 0)
  const replicas = sum((rs) => rs.status.replicas)
  const available = availableReplicas(everything)
  const enough = available >= deployment.spec.replicas - bounds(deployment).maxUnavailable
  return {
    observedGeneration: deployment.metadata.generation,
    replicas,
    updatedReplicas: sets.current?.status.replicas ?? 0,
    readyReplicas: sum((rs) => rs.status.readyReplicas),
    availableReplicas: available,
    // While pods are being deleted, more can briefly be available than the ReplicaSets want.
    unavailableReplicas: Math.max(0, sum((rs) => rs.spec.replicas) - available),
    terminatingReplicas: countsTerminating ? terminatingReplicas(everything) : undefined,
    collisionCount: deployment.status.collisionCount,
    conditions: withCondition(
      deployment.status.conditions ?? [],
      {
        type: "Available",
        status: enough ? "True" : "False",
        reason: enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
        message: enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.",
      },
      clock,
    ),
  }
}

/** Whether all wanted replicas have the current template and are available, and no old replica is left. */
export const isComplete = ({ spec, metadata }: Deployment, status: DeploymentStatus): boolean =>
  status.updatedReplicas === spec.replicas &&
  status.replicas === spec.replicas &&
  status.availableReplicas === spec.replicas &&
  (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)

const hasDeadline = ({ spec }: Deployment): boolean =>
  spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== 2 ** 31 - 1

/** Returns the status with updated Progressing and ReplicaFailure conditions. */
export function withProgress(
  deployment: Deployment,
  sets: ReplicaSets,
  status: DeploymentStatus,
  clock: Clock,
): DeploymentStatus {
  const progressing = find(status, "Progressing")
  const name =
    sets.current === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${sets.current.metadata.name}"`
  let conditions = status.conditions ?? []
  if (!hasDeadline(deployment)) conditions = conditions.filter(({ type }) => type !== "Progressing")
  const done = status.replicas === status.updatedReplicas && progressing?.reason === "NewReplicaSetAvailable"
  if (hasDeadline(deployment) && !done) {
    if (isComplete(deployment, status)) {
      conditions = withCondition(
        conditions,
        {
          type: "Progressing",
          status: "True",
          reason: "NewReplicaSetAvailable",
          message: `${name} has successfully progressed.`,
        },
        clock,
      )
    } else if (hasProgressed(deployment.status, status)) {
      conditions = withCondition(
        conditions.filter(({ type }) => type !== "Progressing"),
        {
          type: "Progressing",
          status: "True",
          reason: "ReplicaSetUpdated",
          message: `${name} is progressing.`,
          ...(progressing?.status === "True" ? { lastTransitionTime: progressing.lastTransitionTime } : {}),
        },
        clock,
      )
    } else if (deadlineLeft(deployment, status, clock) === 0) {
      conditions = withCondition(
        conditions,
        {
          type: "Progressing",
          status: "False",
          reason: "ProgressDeadlineExceeded",
          message: `${name} has timed out progressing.`,
        },
        clock,
      )
    }
  }
  const failure = (sets.current?.status.conditions ?? sets.old.flatMap((rs) => rs.status.conditions ?? [])).find(
    ({ type }) => type === "ReplicaFailure",
  )
  conditions =
    failure === undefined
      ? conditions.filter(({ type }) => type !== "ReplicaFailure")
      : withCondition(
          conditions,
          { type: "ReplicaFailure", status: failure.status, reason: failure.reason, message: failure.message },
          clock,
        )
  return { ...status, conditions }
}

function hasProgressed(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const old = (status: DeploymentStatus) => (status.replicas ?? 0) - (status.updatedReplicas ?? 0)
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

/**
 * Returns the milliseconds until a rollout without progress fails, 0 when it has failed; undefined without a deadline.
 */
export function deadlineLeft(deployment: Deployment, status: DeploymentStatus, clock: Clock): number | undefined {
  const progressing = find(status, "Progressing")
  if (!hasDeadline(deployment) || deployment.spec.paused || progressing === undefined) return undefined
  if (progressing.reason === "NewReplicaSetAvailable") return undefined
  if (progressing.reason === "ProgressDeadlineExceeded") return 0
  const due =
    Date.parse(progressing.lastUpdateTime ?? progressing.lastTransitionTime ?? timestamp(clock)) +
    deployment.spec.progressDeadlineSeconds! * 1000
  return Math.max(0, due - clock.now())
}

/**
 * Sets Progressing to Unknown when a Deployment is paused or resumed, so that paused time does not count. Undefined
 * when nothing changes.
 */
export function pausedCondition(deployment: Deployment, clock: Clock): readonly DeploymentCondition[] | undefined {
  const progressing = find(deployment.status, "Progressing")
  if (!hasDeadline(deployment) || progressing?.reason === "ProgressDeadlineExceeded") return undefined
  const wasPaused = progressing?.reason === "DeploymentPaused"
  if (deployment.spec.paused === true && !wasPaused) {
    return withCondition(
      deployment.status.conditions ?? [],
      { type: "Progressing", status: "Unknown", reason: "DeploymentPaused", message: "Deployment is paused" },
      clock,
    )
  }
  if (deployment.spec.paused !== true && wasPaused) {
    return withCondition(
      deployment.status.conditions ?? [],
      { type: "Progressing", status: "Unknown", reason: "DeploymentResumed", message: "Deployment is resumed" },
      clock,
    )
  }
  return undefined
}

export const find = (status: DeploymentStatus, type: string): DeploymentCondition | undefined =>
  status.conditions?.find((condition) => condition.type === type)

type NewCondition = Pick<DeploymentCondition, "type" | "status" | "reason" | "message"> & {
  readonly lastTransitionTime?: string | null | undefined
}

/**
 * Sets a condition. A condition with the same status and reason is kept; with the same status the transition time is
 * kept.
 */
export function withCondition(
  conditions: readonly DeploymentCondition[],
  next: NewCondition,
  clock: Clock,
): readonly DeploymentCondition[] {
  const before = conditions.find(({ type }) => type === next.type)
  if (before?.status === next.status && before.reason === next.reason) return conditions
  const now = timestamp(clock)
  const lastTransitionTime =
    next.lastTransitionTime ?? (before?.status === next.status ? before.lastTransitionTime : now)
  return [...conditions.filter(({ type }) => type !== next.type), { ...next, lastUpdateTime: now, lastTransitionTime }]
}
