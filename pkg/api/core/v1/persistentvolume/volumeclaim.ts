import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { LabelSelector, ObjectMeta } from "../../../../apimachinery/meta.ts"
import { TypedLocalObjectReference, TypedObjectReference } from "../reference.ts"
import { VolumeResourceRequirements } from "../resources/resources.ts"

export const PersistentVolumeClaimSpec = message(
  "core.v1.PersistentVolumeClaimSpec",
  "The volume that a claim requests.",
  {
    accessModes: f
      .list(1, e.string, "How the volume is to be used.")
      .atomic()
      .enum("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
      .ownRule(),
    selector: f.message(4, LabelSelector, "Which volumes are considered."),
    resources: f.message(2, VolumeResourceRequirements, "Size that is asked for.").always(),
    volumeName: f.string(3, "The volume that is bound, or is to be."),
    storageClassName: f.string(5, "Class of the volume; empty means no class.").pointer(),
    volumeMode: f
      .string(6, "Filesystem or raw block device.")
      .enum("Block", "Filesystem")
      .default("Filesystem")
      .pointer(),
    dataSource: f.message(7, TypedLocalObjectReference, "What the volume is filled from, in the same namespace."),
    dataSourceRef: f.message(8, TypedObjectReference, "What the volume is filled from, of any kind."),
    volumeAttributesClassName: f.string(9, "Class of attributes that can be changed later.").pointer(),
  },
)
export interface PersistentVolumeClaimSpec extends ObjectOf<typeof PersistentVolumeClaimSpec> {}

export const PersistentVolumeClaimTemplate = message("core.v1.PersistentVolumeClaimTemplate", "How to make a claim.", {
  metadata: f.message(1, ObjectMeta, "Labels and annotations of the claim.").always(),
  spec: f.message(2, PersistentVolumeClaimSpec, "The claim.").required(),
})
export interface PersistentVolumeClaimTemplate extends ObjectOf<typeof PersistentVolumeClaimTemplate> {}

export const EphemeralVolumeSource = message(
  "core.v1.EphemeralVolumeSource",
  "A claim that lives and ends with the pod.",
  {
    volumeClaimTemplate: f
      .message(1, PersistentVolumeClaimTemplate, "The claim, which is named after pod and volume.")
      .ownRule(),
  },
)
export interface EphemeralVolumeSource extends ObjectOf<typeof EphemeralVolumeSource> {}

export const PersistentVolumeClaimCondition = message(
  "core.v1.PersistentVolumeClaimCondition",
  "One aspect of a claim's present state.",
  {
    type: f.string(1, "Name of the aspect.").printZero(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastProbeTime: f.time(3, "When the condition was last checked.").orNull(),
    lastTransitionTime: f.time(4, "When the status last changed.").orNull(),
    reason: f.string(5, "Reason of the last change, one word in CamelCase."),
    message: f.string(6, "The reason in words."),
  },
  { unchecked: true },
)
export interface PersistentVolumeClaimCondition extends ObjectOf<typeof PersistentVolumeClaimCondition> {}

export const ModifyVolumeStatus = message(
  "core.v1.ModifyVolumeStatus",
  "How far a change of the volume's attributes has got.",
  {
    targetVolumeAttributesClassName: f.string(1, "Class that the volume is changed to."),
    status: f.string(2, "Pending, InProgress or Infeasible.").required(),
  },
  { unchecked: true },
)
export interface ModifyVolumeStatus extends ObjectOf<typeof ModifyVolumeStatus> {}

export const PersistentVolumeClaimStatus = message(
  "core.v1.PersistentVolumeClaimStatus",
  "The state of a claim.",
  {
    phase: f.string(1, "Pending, Bound or Lost.").enum("Pending", "Bound", "Lost").default("Pending"),
    accessModes: f.list(2, e.string, "How the bound volume may be used.").atomic(),
    capacity: f.map(3, e.quantity, "Size of the bound volume."),
    conditions: f
      .list(4, PersistentVolumeClaimCondition, "Present state, aspect by aspect.")
      .listMap("type")
      .merge("type"),
    allocatedResources: f.map(5, e.quantity, "Size that has been asked of the storage."),
    allocatedResourceStatuses: f.map(7, e.string, "State of a change of size, by resource."),
    currentVolumeAttributesClassName: f.string(8, "Class of attributes that the volume has.").pointer(),
    modifyVolumeStatus: f.message(9, ModifyVolumeStatus, "State of a change of attributes."),
  },
  { unchecked: true },
)
export interface PersistentVolumeClaimStatus extends ObjectOf<typeof PersistentVolumeClaimStatus> {}

/**
 * Sets the kind and version of a claim template, whatever was sent, as upstream. Source:
 * Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec.
 */
const asClaim = <T extends { readonly apiVersion?: string; readonly kind?: string }>(claim: T): T =>
  claim.apiVersion === "v1" && claim.kind === "PersistentVolumeClaim"
    ? claim
    : { ...claim, apiVersion: "v1", kind: "PersistentVolumeClaim" }

/** A claim template of a StatefulSet; kind and apiVersion are in its JSON, but not in its protobuf. */
export const VolumeClaimTemplate = message(
  "core.v1.PersistentVolumeClaim",
  "A claim to storage.",
  {
    apiVersion: f.string(0, "Version of the claim.").default("v1"),
    kind: f.string(0, "Kind of the claim.").default("PersistentVolumeClaim"),
    metadata: f.message(1, ObjectMeta, "Name, labels and annotations of the claim.").always(),
    spec: f.message(2, PersistentVolumeClaimSpec, "What is asked of the volume.").always(),
    status: f.message(3, PersistentVolumeClaimStatus, "What has become of the claim.").always(),
  },
  { defaults: asClaim },
)
export interface VolumeClaimTemplate extends ObjectOf<typeof VolumeClaimTemplate> {}
