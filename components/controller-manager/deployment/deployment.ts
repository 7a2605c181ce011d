import { isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodTerminal } from "../../../pkg/pods/pod-state.ts"
import { DEFAULT_FEATURES, type Features } from "../../../pkg/component/features.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import { adopters, controllerOf, owned } from "../../../pkg/controller/owned.ts"
import { claim } from "../pod-control/claim.ts"
import { scaleProportionally, wasScaled } from "./proportional.ts"
import { byRevision, isActive, scaleReplicaSet, sortOut, syncRevision, type ReplicaSets } from "./replicasets.ts"
import { rollingStep } from "./rolling.ts"
import {
  deadlineLeft,
  find,
  isComplete,
  pausedCondition,
  statusOf,
  withCondition,
  withProgress,
  type DeploymentStatus,
  type RolloutContext,
} from "./status.ts"

/**
 * Rolls pods from one template to the next through ReplicaSets. Source:
 * pkg/controller/deployment/deployment_controller.go.
 */
export const deploymentController = (features: Features = DEFAULT_FEATURES): Controller<Deployment> =>
  defineController<Deployment>({
    name: "deployment-controller",
    reconciles: Deployment,
    watches: [
      owned(
        ReplicaSet,
        Deployment,
        adopters(Deployment, ({ spec }) => fromLabelSelector(spec.selector)),
      ),
      // A Recreate rollout continues when the last old pod is gone.
      watching(Pod, (pod, { informers }, _old, deleted) => {
        const owner = controllerOf(pod)
        if (owner?.kind !== "ReplicaSet" || !(deleted || isPodTerminal(pod))) return []
        const rs = informers.of(ReplicaSet).get(`${pod.metadata.namespace}/${owner.name}`)
        const deployment = rs === undefined ? undefined : controllerOf(rs)
        return deployment?.kind === "Deployment" ? [`${pod.metadata.namespace}/${deployment.name}`] : []
      }),
    ],
    async reconcile(key, given) {
      const context = { ...given, countsTerminating: features.DeploymentReplicaSetTerminatingReplicas }
      const { informers, client, clock } = context
      const deployment = informers.of(Deployment).get(key)
      if (deployment === undefined) return
      const selector = fromLabelSelector(deployment.spec.selector)
      if (selector.everything) {
        context.events.event(
          deployment,
          "Warning",
          "SelectingAll",
          "This deployment is selecting all pods. A non-empty selector is required.",
        )
        return
      }
      const owned = await claim(
        {
          owner: deployment,
          ownerResource: Deployment,
          resource: ReplicaSet,
          matches: (rs) => selector.matches(rs.metadata.labels),
        },
        context,
      )
      const sets = sortOut(deployment, owned)
      if (deployment.metadata.deletionTimestamp !== undefined)
        return writeStatus(deployment, statusOf(deployment, sets, context), context)
      const pausedOrResumed = pausedCondition(deployment, clock)
      if (pausedOrResumed !== undefined) {
        await client.updateStatus(Deployment, {
          ...deployment,
          status: { ...deployment.status, conditions: pausedOrResumed },
        })
        return // that change starts another reconcile
      }
      return deployment.spec.paused === true || wasScaled(deployment, sets)
        ? scaleOnly(deployment, sets, context)
        : rollOut(deployment, sets, context)
    },
  })

/** Changes only the sizes of the ReplicaSets of a Deployment that is paused or was just scaled. */
async function scaleOnly(
  deployment: Deployment,
  sets: ReplicaSets,
  context: RolloutContext,
): Promise<{ readonly requeueAfter: number } | undefined> {
  const synced = await syncRevision(deployment, sets, false, context)
  await scaleProportionally(synced.deployment, synced.sets, context)
  if (deployment.spec.paused === true) await cleanUp(synced.deployment, synced.sets, context)
  return writeStatus(synced.deployment, statusOf(synced.deployment, synced.sets, context), context, deployment)
}

async function rollOut(
  before: Deployment,
  found: ReplicaSets,
  context: RolloutContext,
): Promise<{ readonly requeueAfter: number } | undefined> {
  const recreate = before.spec.strategy.type === "Recreate"
  if (recreate && found.current === undefined && (await makeRoom(before, found, context)))
    return progress(before, found, context)
  const hadCurrent = found.current !== undefined
  const { deployment, sets } = await syncRevision(before, found, true, context)
  const scaled = recreate
    ? (await makeRoom(deployment, sets, context)) ||
      (sets.current !== undefined &&
        (await scaleReplicaSet(deployment, sets.current, deployment.spec.replicas, context)))
    : await rollingStep(deployment, sets, context)
  const status = statusOf(deployment, sets, context)
  if (!scaled && isComplete(deployment, status)) await cleanUp(deployment, sets, context)
  return progress(deployment, sets, context, { hadCurrent, before })
}

/**
 * For strategy Recreate: scales the old ReplicaSets to zero before the new one starts. Returns whether an old pod may
 * still run.
 */
async function makeRoom(deployment: Deployment, sets: ReplicaSets, context: ReconcileContext): Promise<boolean> {
  for (const rs of sets.old.filter(isActive)) await scaleReplicaSet(deployment, rs, 0, context)
  const pods = context.informers.of(Pod)
  return sets.old.some((rs) => isActive(rs) || pods.controlledBy(rs).some((pod) => !isPodTerminal(pod)))
}

/**
 * Writes the status with the state of the rollout. If the new ReplicaSet was just created or found, the Progressing
 * condition says so.
 */
function progress(
  deployment: Deployment,
  sets: ReplicaSets,
  context: RolloutContext,
  { hadCurrent = true, before = deployment }: { readonly hadCurrent?: boolean; readonly before?: Deployment } = {},
): Promise<{ readonly requeueAfter: number } | undefined> {
  const { clock } = context
  const status = statusOf(deployment, sets, context)
  const name = sets.current?.metadata.name
  const first =
    name !== undefined &&
    deployment.spec.progressDeadlineSeconds !== undefined &&
    (!hadCurrent || find(deployment.status, "Progressing") === undefined)
  const marked = !first
    ? status
    : {
        ...status,
        conditions: withCondition(
          status.conditions ?? [],
          hadCurrent
            ? {
                type: "Progressing",
                status: "True",
                reason: "FoundNewReplicaSet",
                message: `Found new replica set "${name}"`,
              }
            : {
                type: "Progressing",
                status: "True",
                reason: "NewReplicaSetCreated",
                message: `Created new replica set "${name}"`,
              },
          clock,
        ),
      }
  return writeStatus(deployment, withProgress(deployment, sets, marked, clock), context, before)
}

/** Writes the status, and with it the revision, if either differs from `before`. */
async function writeStatus(
  deployment: Deployment,
  status: DeploymentStatus,
  { client, clock }: ReconcileContext,
  before = deployment,
): Promise<{ readonly requeueAfter: number } | undefined> {
  // Of `terminatingReplicas`, 0 and undefined are not the same.
  const same =
    deployment.metadata === before.metadata &&
    status.terminatingReplicas === deployment.status.terminatingReplicas &&
    deepEqual(withoutZeros(status), withoutZeros(deployment.status))
  if (!same) {
    try {
      await client.updateStatus(Deployment, { ...deployment, status })
    } catch (err) {
      if (!isNotFound(err)) throw err
    }
    return undefined
  }
  const left = deadlineLeft(deployment, status, clock)
  // The check comes a second late, because timestamps have whole seconds. Source: requeueStuckDeployment.
  return left === undefined || left === 0 ? undefined : { requeueAfter: left + 1000 }
}

const withoutZeros = (status: DeploymentStatus): object =>
  Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0 && value !== undefined))

/**
 * Deletes the old ReplicaSets of the lowest revisions beyond revisionHistoryLimit, except those with pods. A ReplicaSet
 * that a rollback used again has a high revision, however old it is.
 */
async function cleanUp(deployment: Deployment, sets: ReplicaSets, { client }: ReconcileContext): Promise<void> {
  const limit = deployment.spec.revisionHistoryLimit
  if (limit === undefined) return
  const ended = sets.old.filter((rs) => rs.metadata.deletionTimestamp === undefined)
  const excess = [...ended].sort(byRevision).slice(0, Math.max(0, ended.length - limit))
  for (const rs of excess) {
    if (
      (rs.status.replicas ?? 0) !== 0 ||
      rs.spec.replicas !== 0 ||
      (rs.metadata.generation ?? 0) > (rs.status.observedGeneration ?? 0)
    )
      continue
    try {
      await client.delete(ReplicaSet, rs.metadata)
    } catch (err) {
      if (!isNotFound(err) && !isConflict(err)) throw err
    }
  }
}
