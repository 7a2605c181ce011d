import { nameWarnings, templateWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { fromLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { selectorText, templateColumns } from "../../core/v1/podtemplate/template-columns.ts"
import { selectorIsFixed, validateReplicaSetSpec } from "./workload-validation.ts"
import { replicaFaults } from "./status-validation.ts"
import { ReplicaSetSpec } from "./replicasetspec.ts"

export const ReplicaSetCondition = message(
  "apps.v1.ReplicaSetCondition",
  "One aspect of a replica set's present state.",
  {
    type: f.string(1, "Name of the aspect.").printZero(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastTransitionTime: f.time(3, "When the status last changed.").orNull(),
    reason: f.string(4, "Reason of the last change, one word in CamelCase."),
    message: f.string(5, "The reason in words."),
  },
)
export interface ReplicaSetCondition extends ObjectOf<typeof ReplicaSetCondition> {}

export const ReplicaSetStatus = message("apps.v1.ReplicaSetStatus", "The state that the controller has observed.", {
  replicas: f.int32(1, "Number of pods.").min(0).default(0).printZero(),
  fullyLabeledReplicas: f.int32(2, "Number of pods with all labels of the template.").min(0),
  readyReplicas: f.int32(4, "Number of ready pods.").min(0),
  availableReplicas: f.int32(5, "Number of available pods.").min(0),
  terminatingReplicas: f.int32(7, "Number of pods that are ending.").min(0).pointer(),
  observedGeneration: f.int64(3, "Generation that the controller has acted on.").min(0),
  conditions: f.list(6, ReplicaSetCondition, "Present state, aspect by aspect.").listMap("type").merge("type"),
})
export interface ReplicaSetStatus extends ObjectOf<typeof ReplicaSetStatus> {}

export const ReplicaSet = defineResource(
  {
    group: "apps",
    version: "v1",
    kind: "ReplicaSet",
    plural: "replicasets",
    shortNames: ["rs"],
    categories: ["all"],
    scope: "Namespaced",
    podTemplate: "spec.template",
    generation: true,
    doc: "Keeps a number of like pods running; Deployments make them.",
    columns: [
      { name: "Desired", type: "integer", doc: "Number of desired pods.", value: (rs) => rs.spec.replicas },
      { name: "Current", type: "integer", doc: "Number of pods.", value: (rs) => rs.status.replicas },
      { name: "Ready", type: "integer", doc: "Number of ready pods.", value: (rs) => rs.status.readyReplicas ?? 0 },
      ...templateColumns<KubeObject & { readonly spec: ReplicaSetSpec }>(
        (rs) => rs.spec.template.spec,
        (rs) => selectorText(rs.spec.selector),
      ),
    ],
    subresources: {
      status: {
        validateUpdate: ({ status }) =>
          replicaFaults(status, ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"], "readyReplicas"),
      },
      scale: {
        specReplicas: "spec.replicas",
        statusReplicas: "status.replicas",
        selector: (rs) => fromLabelSelector(rs.spec.selector).toString(),
      },
    },
    warnings: (set, old) => [
      ...(old === undefined ? nameWarnings(set) : []),
      ...templateWarnings(set, old, set.spec.template),
    ],
    validateSpec: ({ spec }) => validateReplicaSetSpec(spec),
    validateSpecUpdate: ({ spec }, old) => selectorIsFixed(spec, old.spec),
  },
  {
    spec: f.message(2, ReplicaSetSpec, "Number of pods, and their template.").always(),
    status: f.message(3, ReplicaSetStatus, "The state that the controller has observed.").always(),
  },
)
export type ReplicaSet = ObjectOfResource<typeof ReplicaSet>
