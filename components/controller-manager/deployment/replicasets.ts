import { isAlreadyExists } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { scaledValue } from "../../../pkg/apimachinery/scalars/intstr.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import type { PodTemplateSpec } from "../../../pkg/api/core/v1/podtemplate/podtemplatespec.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerOf, controllerRef } from "../../../pkg/controller/owned.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { templateHash } from "./template-hash.ts"

/** Source of this file: pkg/controller/deployment/util/deployment_util.go and sync.go. */

const REVISION = "deployment.kubernetes.io/revision"
const REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
const DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
const MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
const HASH_LABEL = "pod-template-hash"
/** Annotations of the Deployment that are not copied to its ReplicaSets. */
const NOT_HANDED_DOWN = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  "deprecated.deployment.rollback.to",
])

/** The ReplicaSets of a Deployment: the one with its current template, if it exists, and the others, oldest first. */
export interface ReplicaSets {
  readonly current: ReplicaSet | undefined
  readonly old: readonly ReplicaSet[]
}

export const all = ({ current, old }: ReplicaSets): readonly ReplicaSet[] =>
  current === undefined ? old : [...old, current]
export const isActive = (rs: ReplicaSet): boolean => rs.spec.replicas > 0
export const specReplicas = (sets: readonly ReplicaSet[]): number => sets.reduce((sum, rs) => sum + rs.spec.replicas, 0)
export const availableReplicas = (sets: readonly ReplicaSet[]): number =>
  sets.reduce((sum, rs) => sum + (rs.status.availableReplicas ?? 0), 0)

/**
 * Returns the number of pods that are ending; undefined when a ReplicaSet was reconciled without counting its own, as
 * all were while feature DeploymentReplicaSetTerminatingReplicas was off. Source:
 * GetTerminatingReplicaCountForReplicaSets.
 */
export function terminatingReplicas(sets: readonly ReplicaSet[]): number | undefined {
  const reconciled = sets
    .map(({ status }) => status)
    .filter((status) => (status.observedGeneration ?? 0) !== 0 || status.terminatingReplicas !== undefined)
  if (reconciled.some((status) => status.terminatingReplicas === undefined)) return undefined
  return reconciled.reduce((sum, status) => sum + status.terminatingReplicas!, 0)
}

export const revisionOf = ({ metadata }: ReplicaSet): bigint => asRevision(metadata.annotations?.[REVISION])

/** Parses a revision, which clients may set to any 64-bit number; 0 for other text. */
const asRevision = (text = ""): bigint => (/^\d{1,19}$/.test(text) ? BigInt(text) : 0n)

/** Returns maxSurge and maxUnavailable as numbers of pods: both 0 for Recreate, never both 0 for RollingUpdate. */
export function bounds(deployment: Deployment): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const { strategy, replicas } = deployment.spec
  if (strategy.type !== "RollingUpdate") return { maxSurge: 0, maxUnavailable: 0 }
  const maxSurge = scaledValue(strategy.rollingUpdate?.maxSurge ?? "25%", replicas, "up")
  const maxUnavailable = scaledValue(strategy.rollingUpdate?.maxUnavailable ?? "25%", replicas, "down")
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : Math.min(maxUnavailable, replicas) }
}

export function sortOut(deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSets {
  const byAge = [...sets].sort(byCreation)
  // Of two sets with the same template the oldest counts, so that every reconcile picks the same.
  const current = byAge.find((rs) => deepEqual(withoutHash(rs.spec.template), deployment.spec.template))
  return { current, old: byAge.filter((rs) => rs !== current) }
}

/** Orders by revision, and sets of one revision by age. Source: deployment_util.go ReplicaSetsByRevision. */
export const byRevision = (a: ReplicaSet, b: ReplicaSet): number => {
  const [x, y] = [revisionOf(a), revisionOf(b)]
  return x === y ? byCreation(a, b) : x < y ? -1 : 1
}

export const byCreation = (a: ReplicaSet, b: ReplicaSet): number => {
  const [x, y] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""]
  return x === y ? (a.metadata.name! < b.metadata.name! ? -1 : 1) : x < y ? -1 : 1
}

/**
 * Sets the next revision and the Deployment's annotations on its current ReplicaSet; creates it when it is missing and
 * `create` is set. Returns the sets as stored, and the Deployment with the revision, which is to be written with its
 * status: a write of the Deployment itself would ask webhooks and policies about it, and raise its generation.
 */
export async function syncRevision(
  deployment: Deployment,
  sets: ReplicaSets,
  create: boolean,
  context: ReconcileContext,
): Promise<{ readonly deployment: Deployment; readonly sets: ReplicaSets }> {
  const highest = sets.old.map(revisionOf).reduce((a, b) => (a > b ? a : b), 0n)
  const revision = String(highest + 1n)
  if (sets.current === undefined && !create) return { deployment, sets }
  const current =
    sets.current === undefined
      ? await createReplicaSet(deployment, sets, revision, context)
      : await annotate(deployment, sets.current, revision, context)
  const noted = current.metadata.annotations?.[REVISION] ?? revision
  const marked =
    deployment.metadata.annotations?.[REVISION] === noted
      ? deployment
      : {
          ...deployment,
          metadata: { ...deployment.metadata, annotations: { ...deployment.metadata.annotations, [REVISION]: noted } },
        }
  return { deployment: marked, sets: { current, old: sets.old } }
}

async function annotate(
  deployment: Deployment,
  rs: ReplicaSet,
  revision: string,
  { client }: ReconcileContext,
): Promise<ReplicaSet> {
  const before = rs.metadata.annotations ?? {}
  const own = asRevision(before[REVISION]) >= asRevision(revision) ? before[REVISION]! : revision
  const history =
    before[REVISION] !== undefined && before[REVISION] !== own
      ? [before[REVISION_HISTORY], before[REVISION]].filter(Boolean).join(",")
      : before[REVISION_HISTORY]
  const after = {
    ...before,
    ...handedDown(deployment),
    [REVISION]: own,
    ...(history === undefined ? {} : { [REVISION_HISTORY]: history }),
  }
  const minReadySeconds = deployment.spec.minReadySeconds
  if (deepEqual(before, after) && rs.spec.minReadySeconds === minReadySeconds) return rs
  return client.update(ReplicaSet, {
    ...rs,
    metadata: { ...rs.metadata, annotations: after },
    spec: { ...rs.spec, minReadySeconds },
  })
}

async function createReplicaSet(
  deployment: Deployment,
  sets: ReplicaSets,
  revision: string,
  context: ReconcileContext,
): Promise<ReplicaSet> {
  const { client, events } = context
  const { template, selector, minReadySeconds } = deployment.spec
  const hash = templateHash(template, deployment.status.collisionCount)
  const replicas = newReplicas(deployment, sets)
  const name = `${deployment.metadata.name}-${hash}`
  const labels = { ...template.metadata.labels, [HASH_LABEL]: hash }
  try {
    const created = await client.create(ReplicaSet, {
      metadata: {
        name,
        namespace: deployment.metadata.namespace,
        labels,
        ownerReferences: [controllerRef(deployment)],
        annotations: { ...handedDown(deployment), ...replicaAnnotations(deployment), [REVISION]: revision },
      },
      spec: {
        replicas,
        minReadySeconds,
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    })
    if (replicas > 0)
      events.event(deployment, "Normal", "ScalingReplicaSet", `Scaled up replica set ${name} from 0 to ${replicas}`)
    return created
  } catch (err) {
    if (!isAlreadyExists(err)) {
      events.event(
        deployment,
        "Warning",
        "ReplicaSetCreateError",
        `Failed to create new replica set "${name}": ${errorMessage(err)}`,
      )
      throw err
    }
    const there = await client.get(ReplicaSet, { name, namespace: deployment.metadata.namespace })
    if (controllerOf(there)?.uid === deployment.metadata.uid && deepEqual(withoutHash(there.spec.template), template))
      return there
    if (hasJustCollided(deployment, there, context.clock)) {
      events.event(
        deployment,
        "Warning",
        "ReplicaSetCreateError",
        `Replica set "${name}" has another pod template than it was created with; the next attempt waits`,
      )
      throw err
    }
    // Another template has the same hash: the collision count changes the hash of the next attempt.
    await client.updateStatus(Deployment, {
      ...deployment,
      status: { ...deployment.status, collisionCount: (deployment.status.collisionCount ?? 0) + 1 },
    })
    throw err
  }
}

/**
 * Tells whether the Deployment's own ReplicaSet of this hash is so young that the next hash must wait: 2 s after the
 * first collision, then twice as long each time, at most five minutes. A hash that collides by chance is that of an
 * older template. A young one is that of a ReplicaSet whose template a webhook or a policy changes, or which loses a
 * field whose feature gate was turned off: it never is the Deployment's, and each attempt would leave one more of them.
 * Differs from upstream: there such attempts are limited only by the rate of the client's requests.
 */
function hasJustCollided(deployment: Deployment, there: ReplicaSet, clock: Clock): boolean {
  const { collisionCount = 0 } = deployment.status
  if (collisionCount === 0 || controllerOf(there)?.uid !== deployment.metadata.uid) return false
  const wait = Math.min(1000 * 2 ** collisionCount, 300_000)
  return clock.now() - Date.parse(there.metadata.creationTimestamp!) < wait
}

/** Returns the next number of replicas of the current ReplicaSet. Source: NewRSNewReplicas. */
export function newReplicas(deployment: Deployment, sets: ReplicaSets): number {
  const wanted = deployment.spec.replicas
  if (deployment.spec.strategy.type === "Recreate") return wanted
  const present = sets.current?.spec.replicas ?? 0
  const room = wanted + bounds(deployment).maxSurge - specReplicas(all(sets))
  return room <= 0 ? present : present + Math.min(room, wanted - present)
}

/**
 * Sets the replicas of a ReplicaSet, and records the Deployment's wanted replicas in an annotation for proportional
 * scaling. Returns whether the number of replicas changed.
 */
export async function scaleReplicaSet(
  deployment: Deployment,
  rs: ReplicaSet,
  replicas: number,
  { client, events }: ReconcileContext,
): Promise<boolean> {
  const annotations = { ...rs.metadata.annotations, ...replicaAnnotations(deployment) }
  const resized = rs.spec.replicas !== replicas
  if (!resized && deepEqual(rs.metadata.annotations ?? {}, annotations)) return false
  await client.update(ReplicaSet, { ...rs, metadata: { ...rs.metadata, annotations }, spec: { ...rs.spec, replicas } })
  if (resized) {
    const way = rs.spec.replicas < replicas ? "up" : "down"
    events.event(
      deployment,
      "Normal",
      "ScalingReplicaSet",
      `Scaled ${way} replica set ${rs.metadata.name} from ${rs.spec.replicas} to ${replicas}`,
    )
  }
  return resized
}

/** Returns the Deployment's wanted replicas when the set was last scaled; undefined when not recorded. */
export const desiredNoted = (rs: ReplicaSet): number | undefined => noted(rs, DESIRED_REPLICAS)
export const maxNoted = (rs: ReplicaSet): number | undefined => noted(rs, MAX_REPLICAS)
const noted = (rs: ReplicaSet, annotation: string): number | undefined => {
  const text = rs.metadata.annotations?.[annotation]
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text)
}

const replicaAnnotations = (deployment: Deployment): Record<string, string> => ({
  [DESIRED_REPLICAS]: String(deployment.spec.replicas),
  [MAX_REPLICAS]: String(deployment.spec.replicas + bounds(deployment).maxSurge),
})

const handedDown = ({ metadata }: Deployment): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => !NOT_HANDED_DOWN.has(key)))

function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const { [HASH_LABEL]: _, ...labels } = template.metadata.labels ?? {}
  return { ...template, metadata: { ...template.metadata, labels } }
}
