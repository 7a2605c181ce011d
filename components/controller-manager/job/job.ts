import { equalBeside } from "../../../pkg/apimachinery/json/equal.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { type JobCondition } from "../../../pkg/api/batch/v1/jobspec.ts"
import type { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Key } from "../../../pkg/client/informer.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import {
  defineController,
  type Controller,
  type ReconcileContext,
  type Watched,
  watching,
} from "../../../pkg/controller/controller.ts"
import { adopters, controllerOf, owned } from "../../../pkg/controller/owned.ts"
import { claim } from "../pod-control/claim.ts"
import { account, type JobContext } from "./account.ts"
import type { JobMetrics, SyncAction } from "./job-metrics.ts"
import { CreationPace } from "../creation-pace.ts"
import { NO_BACKOFF, type Backoff } from "./backoff.ts"
import { holds, isFinished, withCondition } from "./conditions.ts"
import { isSuspended, tracked, TRACKING } from "./job-pods.ts"
import { managePods, remove, untrack, type GroupedContext, type Managed } from "./manage.ts"
import { survey, type Survey } from "./survey.ts"
import { COMPLETIONS_REACHED, untilDeadline, verdictOn } from "./verdict.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"

/** Makes gangs of the pods of Jobs; job-group.ts, which is loaded where that is turned on. */
export interface JobGroups {
  readonly groupWatches: readonly Watched[]
  groupOfJob(job: Job, pods: readonly Pod[], context: ReconcileContext): Promise<PodGroup | undefined>
}

/** Jobs whose managedBy names another controller are left alone. */
const OWN_NAME = "kubernetes.io/job-controller"
const isForeign = (job: Job): boolean => job.spec.managedBy !== undefined && job.spec.managedBy !== OWN_NAME

const adoptingJobs = adopters(Job, ({ spec }) => fromLabelSelector(spec.selector))

const owners = owned(Pod, Job, adoptingJobs)

/**
 * A pod event concerns the pod's Job, or the Jobs that may adopt it. Pods with a finalizer and without a Job have a key
 * of their own.
 */
const jobPods = watching(Pod, (pod, context, old, deleted) => {
  if (old !== undefined && isStillPending(pod, old)) return []
  const keys = owners.keys(pod, context, old, deleted)
  const own = deleted || controllerOf(pod) !== undefined ? [] : tracked.of(pod)
  return own.length > 0 && adoptingJobs(pod, context).length === 0 ? [...keys, ...own] : keys
})

/** Whether a pending pod has changed only in its spec or status, such as its node, which does not concern the Job. */
const isStillPending = (pod: Pod, old: Pod): boolean =>
  pod.status.phase === "Pending" &&
  old.status.phase === "Pending" &&
  equalBeside(pod.metadata, old.metadata, ["resourceVersion", "generation", "managedFields"])

/**
 * Runs the pods of Jobs to their end and counts them. Source: pkg/controller/job/job_controller.go.
 * Differs from upstream: no expectations, because the loop holds a key back until the informers show the writes of the
 * last reconcile; and pods whose Job is gone lose their finalizer under the Job's key instead of in a separate queue.
 */
export function jobController(metrics?: JobMetrics, groups?: JobGroups): Controller<Job> {
  const backoffs = new Map<Key, Backoff>()
  let pace: CreationPace | undefined
  return defineController<Job>({
    name: "job-controller",
    reconciles: Job,
    start: ({ clock }) => void (pace = new CreationPace(clock)),
    watches: [jobPods, ...(groups?.groupWatches ?? [])],
    async reconcile(key, context) {
      const job = context.informers.of(Job).get(key)
      if (job !== undefined && isForeign(job)) return
      const finished = job === undefined || isFinished(job)
      const released = context.informers
        .of(Pod)
        .by(tracked, key)
        .filter((pod) => finished || !isOf(pod, job))
      if (released.length > 0) await release(released, context)
      if (finished) {
        backoffs.delete(key)
        return
      }
      const pods = await podsOf(job, context)
      const seen = survey(job, pods, backoffs.get(key) ?? NO_BACKOFF)
      const group = isSuspended(job) ? undefined : await groups?.groupOfJob(job, pods, context)
      const noted = () => backoffs.set(key, seen.backoff)
      return timed(job, metrics, context, (did) => run(job, seen, pace!, { ...context, group, metrics, did }, noted))
    },
  })
}

/** Measures the sync of a Job; `sync` tells what it does with pods. */
async function timed<T>(
  job: Job,
  metrics: JobMetrics | undefined,
  { clock }: ReconcileContext,
  sync: (did: (action: SyncAction) => void) => Promise<T>,
): Promise<T> {
  let action: SyncAction = "reconciling"
  const began = clock.monotonic()
  const ended = (result: "success" | "error") => metrics?.synced(job, result, action, clock.monotonic() - began)
  try {
    const answer = await sync((did) => (action = did))
    ended("success")
    return answer
  } catch (err) {
    ended("error")
    throw err
  }
}

/** Whether the pod is controlled by this Job, or by none. */
const isOf = (pod: Pod, job: Job): boolean => {
  const owner = controllerOf(pod)
  return owner === undefined || owner.uid === job.metadata.uid
}

/** Removes the finalizers of pods whose Job is gone. */
async function release(pods: readonly Pod[], context: ReconcileContext): Promise<void> {
  await Promise.all(pods.map((pod) => untrack(pod, context)))
}

async function podsOf(job: Job, context: ReconcileContext): Promise<readonly Pod[]> {
  const selector = fromLabelSelector(job.spec.selector)
  return claim(
    {
      owner: job,
      ownerResource: Job,
      resource: Pod,
      matches: (pod) => selector.matches(pod.metadata.labels),
      finalizer: TRACKING,
    },
    context,
  )
}

async function run(
  stored: Job,
  seen: Survey,
  pace: CreationPace,
  context: JobContext & GroupedContext & { readonly did: (action: SyncAction) => void },
  noted: () => void,
): Promise<{ readonly requeueAfter: number } | undefined> {
  const { clock, events } = context
  const now = timestamp(clock)
  // A deadline counts from the last resumption, so the start time is set before the deadline is checked.
  const starts = !isSuspended(stored) && (stored.status.startTime === undefined || holds(stored, "Suspended"))
  const job: Job = starts ? { ...stored, status: { ...stored.status, startTime: now } } : stored
  let verdict = verdictOn(job, seen, clock.now())
  let managed: Managed = { active: seen.active.length, ready: seen.ready, terminating: seen.terminating }
  let conditions: readonly JobCondition[] | undefined
  if (verdict !== undefined) {
    managed = await remove(job, seen.active, seen, context, false)
    if (managed.active > 0) verdict = undefined // no verdict while a pod may still run
  } else {
    if (job.metadata.deletionTimestamp === undefined) managed = await managePods(job, seen, pace, context)
    const enough = job.spec.completions === undefined ? seen.succeeded > 0 : seen.succeeded >= job.spec.completions
    if (enough && managed.active === 0) verdict = COMPLETIONS_REACHED
    else if (job.metadata.deletionTimestamp === undefined) conditions = suspension(job, now)
  }
  const more = managed.active - seen.active.length
  context.did(more > 0 ? "pods_created" : more < 0 ? "pods_deleted" : "tracking")
  if (conditions !== undefined) {
    if (isSuspended(job)) events.event(job, "Normal", "Suspended", "Job suspended")
    else events.event(job, "Normal", "Resumed", "Job resumed")
  }
  const { active, ready, terminating, failure, retryIn } = managed
  const { active: _, startTime, ...others } = job.status
  // Without a start time the template of a suspended Job may be changed. Source: the feature gate
  // MutableSchedulingDirectivesForSuspendedJobs.
  const isSuspendedNow = conditions !== undefined && isSuspended(job)
  await account(
    {
      job: stored,
      status: {
        ...others,
        ...(startTime === undefined || isSuspendedNow ? {} : { startTime }),
        ...(active === 0 ? {} : { active }),
        ready,
        terminating,
        ...(conditions === undefined ? {} : { conditions }),
      },
      seen,
      verdict,
    },
    context,
    noted,
  )
  if (failure !== undefined) throw failure // thrown after the status is written, so that finished work is counted
  const waits = [retryIn, verdict === undefined ? untilDeadline(job, clock.now()) : undefined].filter(
    (wait) => wait !== undefined,
  )
  return waits.length === 0 ? undefined : { requeueAfter: smallest(waits) }
}

/** Returns the conditions when the Job was suspended or resumed since they were written; else undefined. */
function suspension(job: Job, now: string): readonly JobCondition[] | undefined {
  const before = job.status.conditions ?? []
  const conditions = withCondition(
    before,
    isSuspended(job)
      ? { type: "Suspended", status: "True", reason: "JobSuspended", message: "Job suspended" }
      : { type: "Suspended", status: "False", reason: "JobResumed", message: "Job resumed" },
    now,
  )
  return conditions === before ? undefined : conditions
}
