import { templateWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import { statefulSetWarnings, validateStatefulSetChange, validateStatefulSetSpec } from "./statefulset-validation.ts"
import { isDNS1123Label } from "../../../apimachinery/validation/names.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { fromLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { templateColumns } from "../../core/v1/podtemplate/template-columns.ts"
import { collisionFaults, replicaFaults } from "./status-validation.ts"
import { StatefulSetSpec } from "./statefulsetspec.ts"

export const StatefulSetCondition = message(
  "apps.v1.StatefulSetCondition",
  "One aspect of a stateful set's present state.",
  {
    type: f.string(1, "Name of the aspect.").printZero(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastTransitionTime: f.time(3, "When the status last changed.").orNull(),
    reason: f.string(4, "Reason of the last change, one word in CamelCase."),
    message: f.string(5, "The reason in words."),
  },
)
export interface StatefulSetCondition extends ObjectOf<typeof StatefulSetCondition> {}

export const StatefulSetStatus = message("apps.v1.StatefulSetStatus", "The state that the controller has observed.", {
  observedGeneration: f.int64(1, "Generation that the controller has acted on.").min(0),
  replicas: f.int32(2, "Number of pods.").min(0).default(0).printZero(),
  readyReplicas: f.int32(3, "Number of ready pods.").min(0),
  currentReplicas: f.int32(4, "Number of pods of the current revision.").min(0),
  updatedReplicas: f.int32(5, "Number of pods of the update revision.").min(0),
  currentRevision: f.string(6, "Revision of the pods that are not updated yet."),
  updateRevision: f.string(7, "Revision of the pods that are updated."),
  collisionCount: f.int32(9, "Counts name collisions of new revisions.").min(0).pointer(),
  conditions: f.list(10, StatefulSetCondition, "Present state, aspect by aspect.").listMap("type").merge("type"),
  availableReplicas: f.int32(11, "Number of available pods.").min(0).default(0).printZero(),
})
export interface StatefulSetStatus extends ObjectOf<typeof StatefulSetStatus> {}

export const StatefulSet = defineResource(
  {
    group: "apps",
    version: "v1",
    kind: "StatefulSet",
    plural: "statefulsets",
    shortNames: ["sts"],
    categories: ["all"],
    scope: "Namespaced",
    podTemplate: "spec.template",
    validateName: isDNS1123Label,
    generation: true,
    doc: "Keeps pods running that each have a lasting name and volumes of their own.",
    columns: [
      {
        name: "Ready",
        type: "string",
        doc: "Ready pods of the desired ones.",
        value: (set) => `${set.status.readyReplicas ?? 0}/${set.spec.replicas}`,
      },
      ...templateColumns<KubeObject & { readonly spec: StatefulSetSpec }>((set) => set.spec.template.spec),
    ],
    subresources: {
      status: {
        validateUpdate: ({ status }, old) => [
          ...replicaFaults(
            status,
            ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
            "status.readyReplicas",
          ),
          ...collisionFaults(status, old.status),
        ],
      },
      scale: {
        specReplicas: "spec.replicas",
        statusReplicas: "status.replicas",
        selector: (set) => fromLabelSelector(set.spec.selector).toString(),
      },
    },
    warnings: (set, old) => [
      ...templateWarnings(set, old, set.spec.template),
      ...statefulSetWarnings(set.spec, old === undefined ? "spec" : "Spec"),
    ],
    validateSpec: ({ spec }, old) => validateStatefulSetSpec(spec, old?.spec),
    validateSpecUpdate: ({ spec }, old) => validateStatefulSetChange(spec, old.spec),
  },
  {
    spec: f.message(2, StatefulSetSpec, "Which pods are wanted.").always(),
    status: f.message(3, StatefulSetStatus, "The state that the controller has observed.").always(),
  },
)
export type StatefulSet = ObjectOfResource<typeof StatefulSet>
