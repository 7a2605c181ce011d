import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { Job } from "../../../pkg/api/batch/v1/job.ts"
import type { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import type { Container } from "../../../pkg/api/core/v1/container/container.ts"
import { isPodReady, isPodTerminating } from "../../../pkg/pods/pod-state.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodTemplateSpec } from "../../../pkg/api/core/v1/podtemplate/podtemplatespec.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import type { CreationPace } from "../creation-pace.ts"
import { createPod, deletePod, slowStart } from "../pod-control/pod-control.ts"
import { leastWorthKeepingFirst } from "../pod-control/rank.ts"
import { untilRetry } from "./backoff.ts"
import { firstFree, NO_INDEXES, union } from "./indexes.ts"
import {
  COMPLETION_INDEX,
  completionIndex,
  completionsOf,
  hasValidIndex,
  isIndexed,
  isSuspended,
  isTracked,
  replacesFailedOnly,
  TRACKING,
} from "./job-pods.ts"
import { failureCounts, limitsPerIndex, untilIndexRetry } from "./per-index.ts"
import { indexesOf, type Survey } from "./survey.ts"

/** Most pods created or deleted at once. Source: MaxPodCreateDeletePerSync. */
const BURST = 500
/** Leaves room in the name for the index and the suffix of generateName. Source: apiserver pkg/storage/names. */
const LONGEST_PREFIX = 58

/** What pods are made with. */
export interface GroupedContext extends ReconcileContext {
  /** The group of the Job's pods, if they are one. */
  readonly group?: PodGroup | undefined
}

export interface Managed {
  readonly active: number
  readonly ready: number
  readonly terminating: number
  readonly failure?: unknown
  /** Milliseconds until pods may be created again. */
  readonly retryIn?: number
}

/**
 * Creates missing pods or deletes surplus ones, so that as many run as the Job wants. Source: manageJob in
 * pkg/controller/job/job_controller.go.
 */
export async function managePods(
  job: Job,
  seen: Survey,
  pace: CreationPace,
  context: GroupedContext,
): Promise<Managed> {
  const active = seen.active.length
  if (isSuspended(job)) return remove(job, seen.active, seen, context, true)
  const parallelism = job.spec.parallelism ?? 1
  // Without completions the first success ends the Job: running pods may end, and no new pods are created.
  const wanted =
    job.spec.completions === undefined
      ? seen.succeeded > 0
        ? active
        : parallelism
      : Math.max(0, Math.min(parallelism, job.spec.completions - seen.succeeded))
  const excess = surplus(job, seen.active, Math.max(0, active - wanted), context.clock.now())
  if (excess.length > 0) return remove(job, excess.slice(0, BURST), seen, context, true)
  const missing = Math.min(BURST, wanted - active - (replacesFailedOnly(job) ? seen.terminating : 0))
  return missing > 0
    ? create(job, seen, missing, pace, context)
    : { active, ready: seen.ready, terminating: seen.terminating }
}

/**
 * Deletes pods of the Job. Surplus pods lose their finalizer first (`uncounted`), so that they do not count as
 * failures; pods of a Job that ends keep it until they are counted.
 */
export async function remove(
  job: Job,
  pods: readonly Pod[],
  seen: Survey,
  context: ReconcileContext,
  uncounted: boolean,
): Promise<Managed> {
  const results = await Promise.allSettled(
    pods.map(async (pod) => {
      if (uncounted) await untrack(pod, context)
      await deletePod(job, pod, context)
    }),
  )
  const removed = pods.filter((_, i) => results[i]!.status === "fulfilled")
  return {
    active: seen.active.length - removed.length,
    ready: seen.ready - removed.filter(isPodReady).length,
    terminating: seen.terminating + removed.length,
    failure: results.find((result) => result.status === "rejected")?.reason as unknown,
  }
}

/**
 * Removes the finalizer; a pod that is gone needs none. Any other failure is thrown, because a pod that keeps its
 * finalizer would be counted again.
 */
export async function untrack(
  pod: Pod,
  { client, informers }: Pick<ReconcileContext, "client" | "informers">,
): Promise<void> {
  if (!isTracked(pod)) return
  try {
    await client.patch(Pod, pod.metadata, {
      type: "strategic",
      body: { metadata: { uid: pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING] } },
    })
  } catch (err) {
    if (!isNotFound(err) || informers.of(Pod).get(keyFrom(pod.metadata))?.metadata.uid === pod.metadata.uid) throw err
  }
}

/**
 * Returns the pods to delete: those without a valid index, all but one of those with the same index, and surplus ones.
 */
function surplus(job: Job, active: readonly Pod[], atLeast: number, now: number): readonly Pod[] {
  const inOrder =
    !isIndexed(job) ||
    new Set(active.filter((pod) => hasValidIndex(pod, job)).map(completionIndex)).size === active.length
  if (atLeast === 0 && inOrder) return []
  const ranked = leastWorthKeepingFirst(active, () => 0, now)
  if (!isIndexed(job)) return ranked.slice(0, atLeast)
  const last = new Map<number, Pod>()
  for (const pod of ranked) last.set(completionIndex(pod) ?? -1, pod)
  const isKept = (pod: Pod): boolean => hasValidIndex(pod, job) && last.get(completionIndex(pod)!) === pod
  const wrong = ranked.filter((pod) => !isKept(pod))
  return [...wrong, ...ranked.filter(isKept).slice(0, Math.max(0, atLeast - wrong.length))]
}

async function create(
  job: Job,
  seen: Survey,
  missing: number,
  pace: CreationPace,
  context: GroupedContext,
): Promise<Managed> {
  const now = context.clock.now()
  const unchanged: Managed = { active: seen.active.length, ready: seen.ready, terminating: seen.terminating }
  const wait = Math.max(
    pace.wait(job, job.spec.completions ?? job.spec.parallelism ?? 1, seen.active.length - seen.ready),
    limitsPerIndex(job) ? 0 : untilRetry(seen.backoff, now),
  )
  if (wait > 0) return { ...unchanged, retryIn: wait }
  const due: number[] = []
  let retryIn: number | undefined
  if (isIndexed(job)) {
    const going = replacesFailedOnly(job) ? indexesOf(seen.pods.filter(isPodTerminating)) : NO_INDEXES
    const taken = union(seen.activeIndexes, seen.succeededIndexes, going, seen.failedIndexes ?? NO_INDEXES)
    for (const index of firstFree(taken, missing, completionsOf(job))) {
      const left = limitsPerIndex(job) ? untilIndexRetry(seen.awaiting.get(index), now) : 0
      if (left === 0) due.push(index)
      else retryIn = Math.min(left, retryIn ?? left)
    }
  }
  const template = inGroup(trackedTemplate(job), context.group)
  const { succeeded, failure } = await slowStart(isIndexed(job) ? due.length : missing, () => {
    const index = due.shift()
    return index === undefined
      ? createPod(job, template, context)
      : createPod(job, indexedTemplate(job, template, index, seen), context, { generateName: prefixFor(job, index) })
  })
  pace.made(job, succeeded)
  return {
    ...unchanged,
    active: unchanged.active + succeeded,
    ...(failure === undefined ? {} : { failure }),
    ...(retryIn === undefined ? {} : { retryIn }),
  }
}

function trackedTemplate({ spec: { template } }: Job): PodTemplateSpec {
  const finalizers = template.metadata.finalizers ?? []
  return {
    ...template,
    metadata: {
      ...template.metadata,
      finalizers: finalizers.includes(TRACKING) ? finalizers : [...finalizers, TRACKING],
    },
  }
}

const inGroup = (template: PodTemplateSpec, group: PodGroup | undefined): PodTemplateSpec =>
  group === undefined
    ? template
    : { ...template, spec: { ...template.spec, schedulingGroup: { podGroupName: group.metadata.name } } }

/** Returns the template for one index, which the pod gets as annotation, label, host name and environment variable. */
function indexedTemplate(job: Job, { metadata, spec }: PodTemplateSpec, index: number, seen: Survey): PodTemplateSpec {
  const counts = limitsPerIndex(job) ? failureCounts(job, seen.awaiting.get(index)) : {}
  return {
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [COMPLETION_INDEX]: String(index), ...counts },
      labels: { ...metadata.labels, [COMPLETION_INDEX]: String(index) },
    },
    spec: {
      ...spec,
      hostname: `${job.metadata.name}-${index}`,
      containers: spec.containers.map(knowingIndex),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(knowingIndex) }),
    },
  }
}

const INDEX_VARIABLE = "JOB_COMPLETION_INDEX"

function knowingIndex(container: Container): Container {
  const { env = [] } = container
  if (env.some(({ name }) => name === INDEX_VARIABLE)) return container
  return {
    ...container,
    env: [
      ...env,
      {
        name: INDEX_VARIABLE,
        valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.labels['${COMPLETION_INDEX}']` } },
      },
    ],
  }
}

function prefixFor({ metadata: { name = "" } }: Job, index: number): string {
  const end = `-${index}-`
  return `${name.slice(0, LONGEST_PREFIX - end.length)}${end}`
}
