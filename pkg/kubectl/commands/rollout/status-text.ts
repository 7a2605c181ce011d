import type { DaemonSet } from "../../../api/apps/v1/daemonset.ts"
import type { Deployment } from "../../../api/apps/v1/deployment.ts"
import type { StatefulSet } from "../../../api/apps/v1/statefulset.ts"

/** How far a rollout is. */
export interface RolloutState {
  readonly text: string
  readonly done: boolean
}

const REVISION = "deployment.kubernetes.io/revision"
const waiting = (text: string): RolloutState => ({ text: `${text}...\n`, done: false })
const finished = (text: string): RolloutState => ({ text: `${text}\n`, done: true })

/**
 * Returns the state of a Deployment's rollout. Source of this file: kubectl pkg/polymorphichelpers/rollout_status.go.
 * @throws Error when the rollout has failed, or is not the one of `revision`, unless that is 0
 */
export function deploymentState({ metadata, spec, status }: Deployment, revision: number): RolloutState {
  const name = JSON.stringify(metadata.name)
  if (revision > 0) {
    const running = Number(metadata.annotations?.[REVISION] ?? "0")
    if (running !== revision)
      throw new Error(`desired revision (${revision}) is different from the running revision (${running})`)
  }
  if ((metadata.generation ?? 0) > (status.observedGeneration ?? 0))
    return waiting("Waiting for deployment spec update to be observed")
  const progressing = (status.conditions ?? []).find(({ type }) => type === "Progressing")
  if (progressing?.reason === "ProgressDeadlineExceeded")
    throw new Error(`deployment ${name} exceeded its progress deadline`)
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0 } = status
  const wait = (text: string) => waiting(`Waiting for deployment ${name} rollout to finish: ${text}`)
  if (spec.replicas !== undefined && updatedReplicas < spec.replicas)
    return wait(`${updatedReplicas} out of ${spec.replicas} new replicas have been updated`)
  if (replicas > updatedReplicas) return wait(`${replicas - updatedReplicas} old replicas are pending termination`)
  if (availableReplicas < updatedReplicas)
    return wait(`${availableReplicas} of ${updatedReplicas} updated replicas are available`)
  return finished(`deployment ${name} successfully rolled out`)
}

const ONLY_ROLLING = "rollout status is only available for RollingUpdate strategy type"

export function daemonSetState({ metadata, spec, status }: DaemonSet): RolloutState {
  const name = JSON.stringify(metadata.name)
  if (spec.updateStrategy?.type !== "RollingUpdate") throw new Error(ONLY_ROLLING)
  if ((metadata.generation ?? 0) > (status.observedGeneration ?? 0))
    return waiting("Waiting for daemon set spec update to be observed")
  const { updatedNumberScheduled: updated = 0, desiredNumberScheduled: desired = 0, numberAvailable = 0 } = status
  const wait = (text: string) => waiting(`Waiting for daemon set ${name} rollout to finish: ${text}`)
  if (updated < desired) return wait(`${updated} out of ${desired} new pods have been updated`)
  if (numberAvailable < desired) return wait(`${numberAvailable} of ${desired} updated pods are available`)
  return finished(`daemon set ${name} successfully rolled out`)
}

export function statefulSetState({ metadata, spec, status }: StatefulSet): RolloutState {
  if (spec.updateStrategy?.type !== "RollingUpdate") throw new Error(ONLY_ROLLING)
  const { observedGeneration = 0, readyReplicas = 0, updatedReplicas = 0, currentReplicas = 0 } = status
  if (observedGeneration === 0 || (metadata.generation ?? 0) > observedGeneration)
    return waiting("Waiting for statefulset spec update to be observed")
  const { replicas, updateStrategy } = spec
  if (replicas !== undefined && readyReplicas < replicas)
    return waiting(`Waiting for ${replicas - readyReplicas} pods to be ready`)
  if (updateStrategy.rollingUpdate) {
    const { partition } = updateStrategy.rollingUpdate
    if (replicas !== undefined && partition !== undefined && updatedReplicas < replicas - partition)
      return waiting(
        `Waiting for partitioned roll out to finish: ${updatedReplicas} out of ${replicas - partition} new pods have been updated`,
      )
    return finished(`partitioned roll out complete: ${updatedReplicas} new pods have been updated...`)
  }
  const { updateRevision = "", currentRevision = "" } = status
  if (updateRevision !== currentRevision)
    return waiting(
      `waiting for statefulset rolling update to complete ${updatedReplicas} pods at revision ${updateRevision}`,
    )
  return finished(`statefulset rolling update complete ${currentReplicas} pods at revision ${currentRevision}...`)
}
