import { templateWarnings } from "../../core/v1/podtemplate/template-warnings.ts"
import { statefulSetWarnings } from "./statefulset-validation.ts"
import { isDNS1123Label } from "../../../apimachinery/validation/names.ts"
import { StatefulSetUpdateStrategy } from "./strategies.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { fromLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { defineResource, type KubeObject, type ObjectOfResource } from "../../../apimachinery/resource.ts"
import { PodTemplateSpec } from "../../core/v1/podtemplate/podtemplate.ts"
import { templateColumns } from "../../core/v1/podtemplate/template-columns.ts"
import { VolumeClaimTemplate } from "../../core/v1/persistentvolume/volumeclaim.ts"
import { validateStatefulSetChange, validateStatefulSetSpec } from "./statefulset-validation.ts"
import { collisionFaults, replicaFaults } from "./status-validation.ts"

export const StatefulSetPersistentVolumeClaimRetentionPolicy = message(
  "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
  "What becomes of claims whose pod is gone.",
  {
    whenDeleted: f.string(1, "When the stateful set is deleted.").enum("Retain", "Delete").inOrder().default("Retain"),
    whenScaled: f.string(2, "When it is scaled down.").enum("Retain", "Delete").inOrder().default("Retain"),
  },
)
export interface StatefulSetPersistentVolumeClaimRetentionPolicy extends ObjectOf<
  typeof StatefulSetPersistentVolumeClaimRetentionPolicy
> {}

export const StatefulSetOrdinals = message("apps.v1.StatefulSetOrdinals", "How pods are numbered.", {
  start: f.int32(1, "Number of the first pod.").min(0).default(0),
})
export interface StatefulSetOrdinals extends ObjectOf<typeof StatefulSetOrdinals> {}

export const StatefulSetSpec = message(
  "apps.v1.StatefulSetSpec",
  "Which pods are wanted, each with a name and volumes of its own.",
  {
    replicas: f.int32(1, "Number of desired pods.").min(0).default(1).pointer(),
    selector: f
      .message(2, LabelSelector, "Which pods belong to it; must match the template's labels. Cannot be changed.")
      .required()
      .pointer()
      .ownRule(),
    template: f.message(3, PodTemplateSpec, "What the pods look like.").required().ownRule(),
    volumeClaimTemplates: f.list(4, VolumeClaimTemplate, "Claims made for each pod.").ownRule().atomic(),
    serviceName: f.string(5, "Headless Service that gives the pods their DNS names.").default(""),
    podManagementPolicy: f
      .string(6, "Whether pods are started one after the other or all at once.")
      .enum("OrderedReady", "Parallel")
      .ownRule()
      .default("OrderedReady"),
    updateStrategy: f.message(7, StatefulSetUpdateStrategy, "How old pods are replaced.").always(),
    revisionHistoryLimit: f.int32(8, "How many old revisions are kept.").default(10).pointer(),
    minReadySeconds: f.int32(9, "Seconds a pod must be ready to count as available.").min(0),
    persistentVolumeClaimRetentionPolicy: f
      .message(10, StatefulSetPersistentVolumeClaimRetentionPolicy, "What becomes of claims whose pod is gone.")
      .always()
      .pointer(),
    ordinals: f.message(11, StatefulSetOrdinals, "How pods are numbered; from 0 unless given."),
  },
)
export interface StatefulSetSpec extends ObjectOf<typeof StatefulSetSpec> {}

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

export const StatefulSetStatus = message("apps.v1.StatefulSetStatus", "What the controller has seen.", {
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
    status: f.message(3, StatefulSetStatus, "What the controller has seen.").always(),
  },
)
export type StatefulSet = ObjectOfResource<typeof StatefulSet>
