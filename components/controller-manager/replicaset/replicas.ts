import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { fromLabels, type LabelMatcher } from "../../../pkg/apimachinery/selectors/labels.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ReplicaSetStatus } from "../../../pkg/api/apps/v1/replicaset.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodActive, isPodAvailable, untilAvailable } from "../../../pkg/pods/pod-state.ts"
import type { PodTemplateSpec } from "../../../pkg/api/core/v1/podtemplate/podtemplatespec.ts"
import { timestamp, type Clock } from "../../../pkg/clock/clock.ts"
import { DEFAULT_FEATURES, type Features } from "../../../pkg/component/features.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import { adopters, orphans, owned } from "../../../pkg/controller/owned.ts"
import { CreationPace } from "../creation-pace.ts"
import { claim } from "../pod-control/claim.ts"
import { createPod, deletePod, slowStart } from "../pod-control/pod-control.ts"
import { leastWorthKeepingFirst } from "../pod-control/rank.ts"
import { Censuses, censusOf, type Census, type CensusLabels } from "./census.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"

/**
 * Most pods created or deleted at once; the rest follow when the informer shows these. Source: replicaset
 * BurstReplicas.
 */
const BURST = 500

/** What ReplicaSets and ReplicationControllers have in common. */
export interface Replicas extends KubeObject {
  readonly spec: {
    readonly replicas: number
    readonly minReadySeconds?: number | undefined
    readonly template?: PodTemplateSpec | undefined
  }
  readonly status: ReplicaSetStatus
}

/** A kind whose objects keep a number of pods. */
export interface ReplicasKind<T extends Replicas> {
  /** Name of the controller. */
  readonly name: string
  readonly resource: Resource<T>
  selectorOf(object: T): LabelMatcher
  /** Whether the status has `terminatingReplicas`: that of ReplicationControllers has not. */
  readonly countsTerminating: boolean
  /** Feature gates; all on unless given. */
  readonly features: Features | undefined
}

/**
 * Keeps as many active pods as the object asks for. Source: pkg/controller/replicaset/replica_set.go.
 * Differs from upstream: no expectations; the loop holds a key back until the informers show what the last run wrote.
 */
export function replicasController<T extends Replicas>({
  name,
  resource,
  selectorOf,
  countsTerminating,
  features = DEFAULT_FEATURES,
}: ReplicasKind<T>): Controller<T> {
  let pace: CreationPace | undefined
  let censuses = new Censuses()
  const ownPods = owned(Pod, resource, adopters(resource, selectorOf))
  return defineController<T>({
    name,
    reconciles: resource,
    start({ clock }) {
      pace = new CreationPace(clock)
      censuses = new Censuses()
    },
    watches: [
      watching(Pod, (pod, context, old, deleted) => {
        censuses.podChanged(pod, old)
        return ownPods.keys(pod, context, old, deleted)
      }),
    ],
    async reconcile(key, context) {
      const { informers, client, clock } = context
      const owner = informers.of(resource).get(key)
      if (owner === undefined) return censuses.forget(key)
      const labels = { selector: selectorOf(owner), template: fromLabels(owner.spec.template?.metadata.labels) }
      const pods = await podsOf(owner, censuses, labels, resource, context)
      const { failure, retryIn }: Scaled =
        owner.metadata.deletionTimestamp === undefined ? await scale(owner, pods, pace!, context, features) : {}
      const status: ReplicaSetStatus = {
        ...statusOf(owner, pods, failure, clock),
        ...(countsTerminating ? { terminatingReplicas: pods.census.terminating } : {}),
      }
      if (!sameStatus(owner.status, status)) {
        await client.updateStatus(resource, { ...owner, status }).catch((err: unknown) => {
          if (!isNotFound(err)) throw err
        })
      }
      if (failure !== undefined) throw failure // thrown after the status is written, in which users find the reason
      const next = nextAvailable(pods, owner.spec.minReadySeconds ?? 0, clock.now())
      const wait = Math.min(next ?? Infinity, retryIn ?? Infinity)
      if (wait < Infinity) return { requeueAfter: wait }
    },
  })
}

/** The pods of an owner. */
interface OwnPods {
  readonly census: Census
  /** Builds the list of the active pods, which may be long and is seldom needed. */
  list(): readonly Pod[]
}

/** Releases and adopts pods if needed, which is seldom; returns the pods that the owner controls. */
async function podsOf<T extends Replicas>(
  owner: T,
  censuses: Censuses,
  labels: CensusLabels,
  resource: Resource<T>,
  context: ReconcileContext,
): Promise<OwnPods> {
  const pods = context.informers.of(Pod)
  const adoptable = pods.by(orphans, owner.metadata.namespace ?? "")
  const census = censuses.count(owner, pods, labels)
  const matches = (pod: Pod) => labels.selector.matches(pod.metadata.labels)
  if (!census.hasUnmatched && !adoptable.some(matches)) {
    if ((owner.spec.minReadySeconds ?? 0) === 0)
      return { census, list: () => pods.controlledBy(owner).filter(isPodActive) }
    // Available pods are counted after the writes of this run, among those that the census counted.
    const active = pods.controlledBy(owner).filter(isPodActive)
    return { census, list: () => active }
  }
  const claimed = await claim(
    { owner, ownerResource: resource, resource: Pod, matches, considers: isPodActive },
    context,
  )
  const { terminating } = census // pods that are being deleted are never claimed
  return { census: { ...censusOf(claimed, labels), terminating }, list: () => claimed }
}

interface Scaled {
  /** The first failure. */
  readonly failure?: unknown
  /** Milliseconds until pods may be created again. */
  readonly retryIn?: number
}

/** Creates missing pods or deletes surplus ones. */
async function scale(
  owner: Replicas,
  { census, list }: OwnPods,
  pace: CreationPace,
  context: ReconcileContext,
  { PodDeletionCost: heedCost }: Features,
): Promise<Scaled> {
  const { replicas, template } = owner.spec
  const missing = replicas - census.active
  if (missing > 0) {
    if (template === undefined) return {}
    const retryIn = pace.wait(owner, replicas, census.active - census.ready)
    if (retryIn > 0) return { retryIn }
    const { succeeded, failure } = await slowStart(Math.min(missing, BURST), () => createPod(owner, template, context))
    pace.made(owner, succeeded)
    return { failure }
  }
  if (missing === 0) return {}
  const pods = list()
  const perNode = new Map<string, number>()
  for (const pod of pods) perNode.set(pod.spec.nodeName ?? "", (perNode.get(pod.spec.nodeName ?? "") ?? 0) + 1)
  const victims = leastWorthKeepingFirst(
    pods,
    (node) => (node === "" ? 0 : perNode.get(node)!),
    context.clock.now(),
    heedCost,
  ).slice(0, Math.min(-missing, BURST))
  const results = await Promise.allSettled(victims.map((pod) => deletePod(owner, pod, context)))
  return { failure: results.find((result) => result.status === "rejected")?.reason as unknown }
}

/** Source: pkg/controller/replicaset/replica_set_utils.go calculateStatus. */
function statusOf(owner: Replicas, { census, list }: OwnPods, failure: unknown, clock: Clock): ReplicaSetStatus {
  const { replicas, minReadySeconds = 0 } = owner.spec
  const { active, fullyLabeled, ready } = census
  const now = clock.now()
  const others = (owner.status.conditions ?? []).filter(({ type }) => type !== "ReplicaFailure")
  const before = owner.status.conditions?.find(({ type }) => type === "ReplicaFailure")
  const reason = active < replicas ? "FailedCreate" : "FailedDelete"
  const failed =
    failure === undefined
      ? []
      : [
          before?.reason === reason
            ? before
            : {
                type: "ReplicaFailure",
                status: "True" as const,
                reason,
                message: errorMessage(failure),
                lastTransitionTime: timestamp(clock),
              },
        ]
  const conditions = [...others, ...failed]
  return {
    replicas: active,
    fullyLabeledReplicas: fullyLabeled,
    readyReplicas: ready,
    availableReplicas:
      minReadySeconds === 0 ? ready : list().filter((pod) => isPodAvailable(pod, minReadySeconds, now)).length,
    observedGeneration: owner.metadata.generation,
    ...(conditions.length === 0 ? {} : { conditions }),
  }
}

const sameStatus = (a: ReplicaSetStatus, b: ReplicaSetStatus): boolean =>
  a.replicas === b.replicas &&
  (a.fullyLabeledReplicas ?? 0) === b.fullyLabeledReplicas &&
  (a.readyReplicas ?? 0) === b.readyReplicas &&
  (a.availableReplicas ?? 0) === b.availableReplicas &&
  a.terminatingReplicas === b.terminatingReplicas && // one that was never counted differs from 0
  a.observedGeneration === b.observedGeneration &&
  JSON.stringify(a.conditions ?? []) === JSON.stringify(b.conditions ?? [])

function nextAvailable({ list }: OwnPods, minReadySeconds: number, now: number): number | undefined {
  if (minReadySeconds === 0) return undefined
  const waits = list()
    .map((pod) => untilAvailable(pod, minReadySeconds, now))
    .filter((wait) => wait !== undefined)
  return waits.length === 0 ? undefined : smallest(waits)
}
