import type { Job } from "../../../../pkg/api/batch/v1/job.ts"
import type { PodGroup } from "../../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import type { Workload } from "../../../../pkg/api/scheduling/v1alpha2/workload.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { Features } from "../../../../pkg/component/features.ts"
import { controllerOf } from "../../../../pkg/controller/owned.ts"
import type { AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

/**
 * Admission of PodGroups and of what belongs to them. The declarations of these kinds are loaded only where they are
 * served, so their objects are read from the store by key.
 */

const PODGROUPS = "podgroups.scheduling.k8s.io"
const FINALIZER = "scheduling.k8s.io/podgroup-protection"
const PREFIX = "/registry/scheduling.k8s.io"

/**
 * Adds the finalizer that keeps a PodGroup while pods belong to it. Source:
 * plugin/pkg/admission/scheduling/podgroupprotection.
 */
export const podGroupProtection = ({ GenericWorkload }: Features): AdmissionPlugin | undefined =>
  GenericWorkload
    ? {
        name: "PodGroupProtection",
        operations: ["CREATE"],
        kinds: [PODGROUPS],
        admit({ subresource, object }) {
          const { finalizers = [] } = object?.metadata ?? {}
          if (subresource !== undefined || object === undefined || finalizers.includes(FINALIZER)) return undefined
          return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, FINALIZER] } }
        },
      }
    : undefined

/** A PodGroup that names a template is created only where its Workload has it. Source: plugin/pkg/admission/podgroup. */
export const podGroupWorkloadExists = (
  { storage }: AdmissionContext,
  { GenericWorkload }: Features,
): AdmissionPlugin | undefined =>
  GenericWorkload
    ? {
        name: "PodGroupWorkloadExists",
        operations: ["CREATE"],
        kinds: [PODGROUPS],
        validate({ object, subresource, resource, namespace, name }) {
          const reference = (object as PodGroup).spec.podGroupTemplateRef?.workload
          if (subresource !== undefined || !reference) return
          const { workloadName, podGroupTemplateName } = reference
          const refuse = (why: string) => forbidden(resource, name, `PodGroup rejected: ${why}`)
          const workload = JSON.stringify(workloadName)
          const found = storage.get(`${PREFIX}/workloads/${namespace}/${workloadName}`)?.object as Workload | undefined
          if (found === undefined) throw refuse(`Workload ${workload} not found`)
          if (found.metadata.deletionTimestamp !== undefined) throw refuse(`Workload ${workload} is being deleted`)
          if (found.spec.podGroupTemplates.some((template) => template.name === podGroupTemplateName)) return
          throw refuse(`PodGroupTemplate ${JSON.stringify(podGroupTemplateName)} not found in Workload ${workload}`)
        },
      }
    : undefined

/**
 * Keeps the parallelism of a Job whose pods are a gang: the gang's size is fixed. Source: plugin/pkg/admission/job.
 */
export const jobValidation = (
  { storage }: AdmissionContext,
  { GenericWorkload }: Features,
): AdmissionPlugin | undefined =>
  GenericWorkload
    ? {
        name: "JobValidation",
        operations: ["UPDATE"],
        kinds: ["jobs.batch"],
        validate({ object, old, subresource, resource, name }) {
          if (subresource !== undefined || old === undefined) return
          const before = old as Job
          if ((object as Job).spec.parallelism === before.spec.parallelism) return
          const gang = groupsOf(before, storage).find(({ spec }) => spec.schedulingPolicy.gang !== undefined)
          if (gang === undefined) return
          throw forbidden(
            resource,
            name,
            "cannot change parallelism for a Job referencing gang-scheduled PodGroup " +
              JSON.stringify(gang.metadata.name),
          )
        },
      }
    : undefined

/** Returns the group that the Job's template names, or else those that the Job controls. */
function groupsOf({ metadata, spec }: Job, storage: AdmissionContext["storage"]): readonly PodGroup[] {
  const prefix = `${PREFIX}/podgroups/${metadata.namespace}/`
  const { podGroupName } = spec.template.spec.schedulingGroup ?? {}
  if (podGroupName !== undefined) {
    const found = storage.get(prefix + podGroupName)?.object
    return found === undefined ? [] : [found as PodGroup]
  }
  return storage
    .list(prefix)
    .map(({ object }) => object as PodGroup)
    .filter((group) => controllerOf(group)?.uid === metadata.uid)
}
