import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
import { StatefulSet, type StatefulSetStatus } from "../../../pkg/api/apps/v1/statefulset.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { isPodAvailable, isPodReady, untilAvailable } from "../../../pkg/pods/pod-state.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { defineController, type Controller, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { adopters, controllerOf, owned } from "../../../pkg/controller/owned.ts"
import { CreationPace } from "../creation-pace.ts"
import { revisionHash } from "../deployment/template-hash.ts"
import { claim } from "../pod-control/claim.ts"
import { type RevisionKind, syncHistory, trimRevisions } from "../revisions.ts"
import { isInRange, ordinalOf, revisionOf } from "./identity.ts"
import { takeSteps, type Round } from "./steps.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"

/** The label and names are upstream's: pods of a StatefulSet name their revision. */
const REVISIONS: RevisionKind<StatefulSet> = {
  resource: StatefulSet,
  label: "controller.kubernetes.io/hash",
  hash: (_template, data, collisionCount) => revisionHash(data, collisionCount ?? 0),
}

/**
 * Keeps pods with stable names and their own volumes. Source: pkg/controller/statefulset/stateful_set{,_control}.go.
 * Differs from upstream: the status shows the state at the start of a round; the effects of the round appear in the
 * next one, which they trigger.
 */
export function statefulSetController(): Controller<StatefulSet> {
  let pace: CreationPace | undefined
  return defineController<StatefulSet>({
    name: "statefulset-controller",
    reconciles: StatefulSet,
    start: ({ clock }) => void (pace = new CreationPace(clock)),
    watches: [
      owned(
        Pod,
        StatefulSet,
        adopters(
          StatefulSet,
          ({ spec }) => fromLabelSelector(spec.selector),
          (pod: Pod, set) => ordinalOf(pod, set) !== undefined,
        ),
      ),
      owned(ControllerRevision, StatefulSet),
      // A claim of an earlier pod delays the next one, and the owners of claims are kept as the policy says.
      {
        resource: PersistentVolumeClaim,
        keys(claimed, { informers }, old, deleted) {
          const before = old?.metadata.ownerReferences
          if (!deleted && (old === undefined || deepEqual(before, claimed.metadata.ownerReferences))) return []
          const owner = controllerOf(claimed)
          return informers
            .of(StatefulSet)
            .list(claimed.metadata.namespace)
            .filter(
              ({ metadata }) =>
                owner?.uid === metadata.uid || claimed.metadata.name?.includes(`-${metadata.name}-`) === true,
            )
            .map(({ metadata }) => keyFrom(metadata))
        },
      },
    ],
    async reconcile(key, context) {
      const { informers, client, clock } = context
      const set = informers.of(StatefulSet).get(key)
      if (set === undefined) return
      const selector = fromLabelSelector(set.spec.selector)
      if (selector.everything) return
      const pods = await claim(
        {
          owner: set,
          ownerResource: StatefulSet,
          resource: Pod,
          matches: (pod) => selector.matches(pod.metadata.labels) && ordinalOf(pod, set) !== undefined,
        },
        context,
      )
      const { update, all, collisionCount } = await syncHistory(set, REVISIONS, context)
      const current = all.find(({ metadata }) => metadata.name === set.status.currentRevision) ?? update
      const round = roundOf(set, pods, current, update)
      const retryIn = pace!.wait(set, set.spec.replicas, pods.filter((pod) => !isPodReady(pod)).length)
      let status = statusOf(round, pods, collisionCount, clock.now())
      let failure: unknown
      if (set.metadata.deletionTimestamp === undefined && retryIn === 0)
        try {
          const replaced = await takeSteps(round, pace!, context)
          if (replaced > 0) status = withoutReplaced(status, replaced)
        } catch (err) {
          failure = err
        }
      if (!deepEqual(status, set.status)) {
        await client.updateStatus(StatefulSet, { ...set, status }).catch((err: unknown) => {
          if (!isNotFound(err)) throw err
        })
      }
      const live = new Set([status.currentRevision, status.updateRevision, ...pods.map(revisionOf)])
      await trimRevisions(set, all, ({ metadata }) => live.has(metadata.name), context)
      if (failure !== undefined) throw failure
      return nextLook(set, pods, retryIn, context)
    },
  })
}

function roundOf(
  set: StatefulSet,
  pods: readonly Pod[],
  current: ControllerRevision,
  update: ControllerRevision,
): Round {
  const byOrdinal = pods.map((pod) => [ordinalOf(pod, set)!, pod] as const).sort(([a], [b]) => a - b)
  return {
    set,
    current,
    update,
    kept: new Map(byOrdinal.filter(([ordinal]) => isInRange(ordinal, set))),
    condemned: byOrdinal
      .filter(([ordinal]) => !isInRange(ordinal, set))
      .reverse()
      .map(([, pod]) => pod),
  }
}

function statusOf(
  { set, current, update }: Round,
  pods: readonly Pod[],
  collisionCount: number | undefined,
  now: number,
): StatefulSetStatus {
  const ready = pods.filter((pod) => pod.status.phase === "Running" && isPodReady(pod))
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const count = (revision: ControllerRevision): number =>
    staying.filter((pod) => revisionOf(pod) === revision.metadata.name).length
  const updated = count(update)
  // The update is complete when every pod is updated and ready; then its revision becomes the current one.
  const complete =
    set.spec.updateStrategy.type === "RollingUpdate" &&
    updated === pods.length &&
    ready.length === pods.length &&
    pods.length === set.spec.replicas
  const { conditions } = set.status
  const whole = {
    currentReplicas: complete ? updated : count(current),
    updatedReplicas: updated,
    readyReplicas: ready.length,
  }
  return {
    replicas: pods.length,
    availableReplicas: ready.filter((pod) => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)).length,
    ...Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== 0)),
    observedGeneration: set.metadata.generation,
    currentRevision: (complete ? update : current).metadata.name,
    updateRevision: update.metadata.name,
    collisionCount: collisionCount ?? 0,
    ...(conditions === undefined ? {} : { conditions }),
  }
}

/**
 * Returns the status without pods that were deleted to be replaced: the number of pods of the old revision decides
 * which revision the next round creates.
 */
function withoutReplaced({ currentReplicas = 0, ...status }: StatefulSetStatus, replaced: number): StatefulSetStatus {
  return currentReplicas > replaced ? { ...status, currentReplicas: currentReplicas - replaced } : status
}

function nextLook(
  { spec: { minReadySeconds = 0 } }: StatefulSet,
  pods: readonly Pod[],
  retryIn: number,
  { clock }: ReconcileContext,
): { readonly requeueAfter: number } | undefined {
  const waits = [
    ...(retryIn > 0 ? [retryIn] : []),
    ...(minReadySeconds === 0 ? [] : pods.map((pod) => untilAvailable(pod, minReadySeconds, clock.now()))),
  ].filter((wait) => wait !== undefined)
  return waits.length === 0 ? undefined : { requeueAfter: smallest(waits) }
}
