import { StatefulSetUpdateStrategy } from "./strategies.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { PodTemplateSpec } from "../../core/v1/podtemplate/podtemplatespec.ts"
import { VolumeClaimTemplate } from "../../core/v1/persistentvolume/volumeclaim.ts"

export const StatefulSetPersistentVolumeClaimRetentionPolicy = message(
  "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
  "What happens to claims of pods that are gone.",
  {
    whenDeleted: f
      .string(1, "What happens to the claims when the StatefulSet is deleted.")
      .enum("Retain", "Delete")
      .inOrder()
      .default("Retain"),
    whenScaled: f
      .string(2, "What happens to the claims when the StatefulSet is scaled down.")
      .enum("Retain", "Delete")
      .inOrder()
      .default("Retain"),
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
    template: f.message(3, PodTemplateSpec, "Template of the pods.").required().ownRule(),
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
      .message(10, StatefulSetPersistentVolumeClaimRetentionPolicy, "What happens to claims of pods that are gone.")
      .always()
      .pointer(),
    ordinals: f.message(11, StatefulSetOrdinals, "How pods are numbered; from 0 unless given."),
  },
)
export interface StatefulSetSpec extends ObjectOf<typeof StatefulSetSpec> {}
