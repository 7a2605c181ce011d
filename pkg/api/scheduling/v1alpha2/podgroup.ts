import type { Cause } from "../../../apimachinery/errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { Condition } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { conditionFaults } from "../../../apimachinery/validation/conditions.ts"
import { invalidValue, within } from "../../../apimachinery/validation/field-errors.ts"
import { isShortName, isLongName } from "../../../apimachinery/validation/names.ts"
import { withMetadataOf } from "../../status-metadata.ts"
import { groupedFaults, textFaults, unionFaults } from "./podgroup-validation.ts"
import {
  DISRUPTION_MODES,
  PodGroupResourceClaim,
  PodGroupSchedulingConstraints,
  PodGroupSchedulingPolicy,
} from "./podgrouptemplate.ts"

/**
 * Source: k8s.io/api scheduling/v1alpha2/types.go, pkg/registry/scheduling/podgroup/strategy.go,
 * pkg/apis/scheduling/validation. Served only where `--runtime-config` and the gate GenericWorkload say so.
 */

/** Type of the condition that says whether the group has its nodes. */
export const SCHEDULED = "PodGroupScheduled"
/** Type of the condition of a group that is being preempted. */
export const DISRUPTED = "DisruptionTarget"
/** The finalizer that keeps a group while pods belong to it. */
export const PROTECTION = "scheduling.k8s.io/podgroup-protection"

const WorkloadPodGroupTemplateReference = message(
  "scheduling.v1alpha2.WorkloadPodGroupTemplateReference",
  "A template in a Workload.",
  {
    workloadName: f.string(1, "Name of the Workload.").required().ownRule(),
    podGroupTemplateName: f.string(2, "Name of the template in it.").required().ownRule(),
  },
)

const PodGroupTemplateReference = message(
  "scheduling.v1alpha2.PodGroupTemplateReference",
  "The template that a group was made of.",
  { workload: f.message(1, WorkloadPodGroupTemplateReference, "A template in a Workload.").orNull().ownRule() },
  { unions: [{ fields: ["workload"] }] },
)
type PodGroupTemplateReference = ObjectOf<typeof PodGroupTemplateReference>

export const PodGroupSpec = message("scheduling.v1alpha2.PodGroupSpec", "What the group is. It cannot change.", {
  podGroupTemplateRef: f.message(1, PodGroupTemplateReference, "The template of the group.").orNull().ownRule(),
  schedulingPolicy: f.message(2, PodGroupSchedulingPolicy, "How the pods are scheduled.").always().ownRule(),
  schedulingConstraints: f
    .message(3, PodGroupSchedulingConstraints, "Where the pods may run; of the gate TopologyAwareWorkloadScheduling.")
    .ownRule(),
  resourceClaims: f
    .list(4, PodGroupResourceClaim, "Claims that the pods share; of the gate DRAWorkloadResourceClaims.")
    .listMap("name")
    .merge("name")
    .retainKeys()
    .disabled(),
  disruptionMode: f
    .string(5, "Whether the pods are preempted together; of the gate WorkloadAwarePreemption.")
    .default("Pod")
    .enum(...DISRUPTION_MODES)
    .pointer()
    .ownRule(),
  priorityClassName: f.string(6, "Class of the group's priority; of the gate WorkloadAwarePreemption."),
  priority: f.int32(7, "The group's priority; of the gate WorkloadAwarePreemption.").pointer(),
})
export interface PodGroupSpec extends ObjectOf<typeof PodGroupSpec> {}

const PodGroupResourceClaimStatus = message(
  "scheduling.v1alpha2.PodGroupResourceClaimStatus",
  "The claim that was made for a group.",
  {
    name: f.string(1, "Name of the entry in the spec.").required().ownRule(),
    resourceClaimName: f.string(2, "Name of the claim.").pointer(),
  },
)

export const PodGroupStatus = message("scheduling.v1alpha2.PodGroupStatus", "How far the group is.", {
  conditions: f.list(1, Condition, "PodGroupScheduled and DisruptionTarget.").listMap("type").merge("type"),
  resourceClaimStatuses: f
    .list(2, PodGroupResourceClaimStatus, "The claims that were made for the group.")
    .listMap("name")
    .merge("name")
    .retainKeys()
    .disabled(),
})
export interface PodGroupStatus extends ObjectOf<typeof PodGroupStatus> {}

const fields = {
  spec: f.message(2, PodGroupSpec, "What the group is.").always().ownRule(),
  status: f.message(3, PodGroupStatus, "How far the group is.").always().ownRule(),
}
export interface PodGroup extends ObjectFor<typeof fields> {}

const IMMUTABLE = [
  "podGroupTemplateRef",
  "schedulingPolicy",
  "schedulingConstraints",
  "disruptionMode",
  "priorityClassName",
  "priority",
] as const

export const PodGroup = defineResource(
  {
    group: "scheduling.k8s.io",
    version: "v1alpha2",
    kind: "PodGroup",
    plural: "podgroups",
    scope: "Namespaced",
    offByDefault: true,
    doc: "Pods that are scheduled together.",
    upstreamChecks: { wholeMetadata: 1 },
    columns: [
      {
        name: "Policy",
        type: "string",
        doc: "How the pods are scheduled.",
        value: ({ spec }) => (spec.schedulingPolicy.gang === undefined ? "Basic" : "Gang"),
      },
      {
        name: "Workload",
        type: "string",
        doc: "Name of the referenced Workload object",
        value: ({ spec }) => spec.podGroupTemplateRef?.workload?.workloadName,
      },
      { name: "Status", type: "string", doc: "Status of the PodGroup", value: stateOf },
    ],
    subresources: {
      status: {
        resets: [["metadata"], ["spec"]],
        prepareForUpdate: withMetadataOf,
        validateUpdate: ({ status }) => conditionFaults("status.conditions", status.conditions),
      },
    },
    validateCreate({ spec }) {
      const causes: Cause[] = []
      const { podGroupTemplateRef } = spec
      if (podGroupTemplateRef) within(causes, referenceFaults(podGroupTemplateRef), "spec.podGroupTemplateRef")
      within(causes, groupedFaults(spec), "spec")
      return causes
    },
    validateUpdate: ({ spec }, old) =>
      IMMUTABLE.filter((name) => !deepEqual(spec[name] ?? undefined, old.spec[name] ?? undefined)).map((name) =>
        invalidValue(`spec.${name}`, null, "field is immutable"),
      ),
  },
  fields,
)

function stateOf({ status: { conditions = [] } }: PodGroup): string {
  const disrupted = conditions.findLast(({ type }) => type === DISRUPTED)
  if (disrupted !== undefined) return disrupted.reason
  const scheduled = conditions.findLast(({ type }) => type === SCHEDULED)
  return scheduled === undefined ? "Pending" : scheduled.status === "True" ? "Scheduled" : "Unschedulable"
}

function referenceFaults(reference: PodGroupTemplateReference): readonly Cause[] {
  const causes = [...unionFaults(reference, ["workload"])]
  const { workload } = reference
  if (workload)
    within(
      causes,
      [
        ...textFaults("workloadName", workload.workloadName, isLongName),
        ...textFaults("podGroupTemplateName", workload.podGroupTemplateName, isShortName),
      ],
      "workload",
    )
  return causes
}
