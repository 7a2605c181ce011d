import { Job } from "../../../pkg/api/batch/v1/job.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { Workload } from "../../../pkg/api/scheduling/v1alpha2/workload.ts"
import { isAlreadyExists } from "../../../pkg/apimachinery/errors.ts"
import type { Index } from "../../../pkg/client/informer.ts"
import { type ReconcileContext, watching } from "../../../pkg/controller/controller.ts"
import { controllerOf, controllerRef, owned } from "../../../pkg/controller/owned.ts"
import { nameHash } from "../deployment/template-hash.ts"
import { isIndexed } from "./job-pods.ts"

/**
 * Makes a gang of the pods of a Job, where all of them run at the same time: a Workload and a PodGroup, which the Job
 * owns. A Job that has begun before the feature was turned on stays as it is. Source:
 * pkg/controller/job/job_scheduling_manager.go. Differs from upstream: the pods are not owned by the group, which stays
 * while pods belong to it: they would stay with it when the Job is deleted.
 */

const LONGEST_NAME = 253
const LONGEST_LABEL = 63

const workloadsByJob: Index<Workload> = {
  name: "workloadByJobName",
  of: ({ metadata, spec: { controllerRef: ref } }) =>
    ref?.kind === "Job" && ref.apiGroup === "batch" ? [`${metadata.namespace}/${ref.name}`] : [],
}
const groupsByWorkload: Index<PodGroup> = {
  name: "podGroupByWorkloadName",
  of: ({ metadata, spec }) => {
    const name = spec.podGroupTemplateRef?.workload?.workloadName
    return name === undefined ? [] : [`${metadata.namespace}/${name}`]
  },
}

/** A Workload that names a Job concerns it, and so does a group that it owns. */
export const groupWatches = [watching(Workload, (workload) => workloadsByJob.of(workload)), owned(PodGroup, Job)]

/** Whether the pods of a Job run all at once, and can be a gang. Source: IsGangSchedulingCandidate. */
const isCandidate = (job: Job): boolean => {
  const { parallelism = 1, completions, template } = job.spec
  return parallelism > 1 && isIndexed(job) && completions === parallelism && template.spec.schedulingGroup === undefined
}

const isNew = ({ status: { startTime, succeeded = 0, failed = 0, conditions = [] } }: Job, pods: readonly Pod[]) =>
  pods.length === 0 &&
  startTime === undefined &&
  succeeded === 0 &&
  failed === 0 &&
  !conditions.some(({ type }) => type === "Suspended")

/**
 * Returns the group of the Job's pods, which is made where it is missing; undefined where the pods are scheduled each
 * on its own: of a Job whose pods do not run at once, or that is older, and where others have made a Workload for it.
 */
export async function groupOfJob(
  job: Job,
  pods: readonly Pod[],
  context: ReconcileContext,
): Promise<PodGroup | undefined> {
  if (!isCandidate(job)) return undefined
  const workload = await workloadOf(job, pods, context)
  if (workload === undefined) return undefined
  const { namespace, name = "" } = workload.metadata
  const groups = context.informers.of(PodGroup).by(groupsByWorkload, `${namespace}/${name}`)
  if (groups.length > 1) return undefined
  const [group] = groups
  if (group !== undefined) return isOwned(group, job) ? group : undefined
  return createGroup(job, workload, context)
}

const isOwned = (object: Workload | PodGroup, job: Job): boolean => controllerOf(object)?.uid === job.metadata.uid

async function workloadOf(
  job: Job,
  pods: readonly Pod[],
  { informers, client, events }: ReconcileContext,
): Promise<Workload | undefined> {
  const { namespace, name = "", uid = "" } = job.metadata
  const workloads = informers.of(Workload).by(workloadsByJob, `${namespace}/${name}`)
  if (workloads.length > 1) return undefined
  const [workload] = workloads
  if (workload !== undefined)
    return isOwned(workload, job) && workload.spec.podGroupTemplates.length === 1 ? workload : undefined
  if (!isNew(job, pods)) return undefined
  const made = await client.create(Workload, {
    metadata: {
      namespace,
      name: shortened([name], nameHash(uid)),
      ownerReferences: [controllerRef(job)],
    },
    spec: {
      controllerRef: { apiGroup: "batch", kind: "Job", name },
      podGroupTemplates: [
        { name: templateNameFor(name), schedulingPolicy: { gang: { minCount: job.spec.parallelism ?? 1 } } },
      ],
    },
  })
  events.event(job, "Normal", "WorkloadCreated", `Created Workload ${made.metadata.name} for Job ${name}`)
  return made
}

/** The name of a template is a label, which is shorter than that of a Job and has no dots. */
const templateNameFor = (job: string): string =>
  `${job.slice(0, LONGEST_LABEL - "-pgt-0".length).replaceAll(".", "-")}-pgt-0`

async function createGroup(job: Job, workload: Workload, { client }: ReconcileContext): Promise<PodGroup> {
  const { name: workloadName = "", uid = "" } = workload.metadata
  const { name: podGroupTemplateName, schedulingPolicy } = workload.spec.podGroupTemplates[0]!
  const name = shortened([workloadName, podGroupTemplateName], nameHash(workloadName + podGroupTemplateName))
  try {
    return await client.create(PodGroup, {
      metadata: {
        namespace: job.metadata.namespace,
        name,
        ownerReferences: [
          controllerRef(job),
          { apiVersion: Workload.apiVersion, kind: Workload.kind, name: workloadName, uid },
        ],
      },
      spec: { podGroupTemplateRef: { workload: { workloadName, podGroupTemplateName } }, schedulingPolicy },
    })
  } catch (err) {
    if (!isAlreadyExists(err)) throw err
    return client.get(PodGroup, { namespace: job.metadata.namespace ?? "", name })
  }
}

/** Joins parts and a hash to a name; parts that are too long lose their ends, each no more than the other needs. */
export function shortened(parts: readonly string[], hash: string): string {
  const room = LONGEST_NAME - hash.length - parts.length
  const [first = "", second] = parts
  if (second === undefined) return `${first.slice(0, room)}-${hash}`
  const half = Math.floor(room / 2)
  const ofSecond = first.length <= half ? room - first.length : second.length <= half ? second.length : half
  return `${first.slice(0, room - Math.min(ofSecond, second.length))}-${second.slice(0, ofSecond)}-${hash}`
}
