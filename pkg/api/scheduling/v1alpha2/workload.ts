import type { Cause } from "../../../apimachinery/errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import {
  at,
  duplicate,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  required,
  tooMany,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { isShortName, isLongName, isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { repeated } from "../../../apimachinery/validation/repeated.ts"
import { groupedFaults, textFaults } from "./podgroup-validation.ts"
import {
  DISRUPTION_MODES,
  PodGroupResourceClaim,
  PodGroupSchedulingConstraints,
  PodGroupSchedulingPolicy,
} from "./podgrouptemplate.ts"

/**
 * Source: k8s.io/api scheduling/v1alpha2/types.go, pkg/registry/scheduling/workload/strategy.go. Served only where
 * `--runtime-config` and the gate GenericWorkload say so.
 */

const MOST_TEMPLATES = 8

const TypedLocalObjectReference = message(
  "scheduling.v1alpha2.TypedLocalObjectReference",
  "An object of the same namespace.",
  {
    apiGroup: f.string(1, "Group of the kind; empty for the core group."),
    kind: f.string(2, "Kind of the object.").required().ownRule(),
    name: f.string(3, "Name of the object.").required().ownRule(),
  },
)
type TypedLocalObjectReference = ObjectOf<typeof TypedLocalObjectReference>

export const PodGroupTemplate = message("scheduling.v1alpha2.PodGroupTemplate", "What PodGroups are made of.", {
  name: f.string(1, "Name of the template in its Workload.").required().ownRule(),
  schedulingPolicy: f.message(2, PodGroupSchedulingPolicy, "How the pods are scheduled.").always().ownRule(),
  schedulingConstraints: f
    .message(3, PodGroupSchedulingConstraints, "Where the pods may run; of the gate TopologyAwareWorkloadScheduling.")
    .orNull()
    .ownRule(),
  resourceClaims: f
    .list(4, PodGroupResourceClaim, "Claims that the pods share; of the gate DRAWorkloadResourceClaims.")
    .listMap("name")
    .merge("name")
    .retainKeys()
    .disabled(),
  disruptionMode: f
    .string(5, "Whether the pods are preempted together; of the gate WorkloadAwarePreemption.")
    .enum(...DISRUPTION_MODES)
    .pointer()
    .ownRule(),
  priorityClassName: f.string(6, "Class of the groups' priority; of the gate WorkloadAwarePreemption."),
  priority: f.int32(7, "The groups' priority; of the gate WorkloadAwarePreemption.").pointer(),
})
export interface PodGroupTemplate extends ObjectOf<typeof PodGroupTemplate> {}

const WorkloadSpec = message("scheduling.v1alpha2.WorkloadSpec", "What a workload is made of. It cannot change.", {
  controllerRef: f.message(1, TypedLocalObjectReference, "The object that controls the pods.").ownRule(),
  podGroupTemplates: f
    .list(2, PodGroupTemplate, "Templates of the PodGroups; at most 8.")
    .listMap("name")
    .required()
    .ownRule(),
})

const fields = {
  spec: f.message(2, WorkloadSpec, "What the workload is made of.").always().ownRule(),
}
export interface Workload extends ObjectFor<typeof fields> {}

export const Workload = defineResource(
  {
    group: "scheduling.k8s.io",
    version: "v1alpha2",
    kind: "Workload",
    plural: "workloads",
    scope: "Namespaced",
    offByDefault: true,
    doc: "How the pods of an application are scheduled: as which groups.",
    columns: [],
    upstreamChecks: { wholeMetadata: 1 },
    validateCreate({ spec: { controllerRef, podGroupTemplates = [] } }) {
      const causes: Cause[] = []
      if (controllerRef !== undefined) within(causes, referenceFaults(controllerRef), "spec.controllerRef")
      within(causes, templateFaults(podGroupTemplates), "spec.podGroupTemplates")
      return causes
    },
    validateUpdate: ({ spec }, old) => [
      ...(deepEqual(spec.controllerRef, old.spec.controllerRef) ? NO_CAUSES : [immutable("spec.controllerRef")]),
      ...(deepEqual(spec.podGroupTemplates, old.spec.podGroupTemplates)
        ? NO_CAUSES
        : [immutable("spec.podGroupTemplates"), ...countFaults("spec.podGroupTemplates", spec.podGroupTemplates)]),
    ],
  },
  fields,
)

const referenceFaults = ({ apiGroup = "", kind, name }: TypedLocalObjectReference): readonly Cause[] => [
  ...(apiGroup === "" ? NO_CAUSES : invalidValues("apiGroup", apiGroup, isLongName(apiGroup))),
  ...textFaults("kind", kind, isPathSegmentName),
  ...textFaults("name", name, isPathSegmentName),
]

const immutable = (field: string): Cause => invalidValue(field, null, "field is immutable")

const countFaults = (field: string, { length }: readonly PodGroupTemplate[] = []): readonly Cause[] =>
  length === 0 ? [required(field)] : length > MOST_TEMPLATES ? [tooMany(field, length, MOST_TEMPLATES)] : NO_CAUSES

/** Upstream shows the whole template, its fields in the order of their declaration. */
const shown = (template: PodGroupTemplate): object =>
  Object.fromEntries(
    Object.keys(PodGroupTemplate.fields).flatMap((name) => {
      const value = (template as Readonly<Record<string, unknown>>)[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )

function templateFaults(templates: readonly PodGroupTemplate[]): readonly Cause[] {
  const counted = countFaults("", templates)
  if (counted.length > 0) return counted
  const causes: Cause[] = []
  for (const i of repeated(templates, ({ name }) => name)) causes.push(duplicate(at("", i), shown(templates[i]!)))
  for (const [i, template] of templates.entries())
    within(causes, [...textFaults("name", template.name, isShortName), ...groupedFaults(template)], "", i)
  return causes
}
