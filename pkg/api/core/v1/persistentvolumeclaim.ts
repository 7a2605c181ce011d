import type { Cause } from "../../../apimachinery/errors.ts"
import { deepEqual } from "../../../apimachinery/equal.ts"
import { forbiddenField, invalidValue, within } from "../../../apimachinery/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { compareQuantities, quantity } from "../../../apimachinery/quantity.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { accessModesText } from "./accessmodes.ts"
import { claimSpecFaults } from "./claimspec-validation.ts"
import { PersistentVolumeClaimSpec } from "./volumeclaim.ts"

/** Source: k8s.io/api core/v1/types.go, pkg/registry/core/persistentvolumeclaim/strategy.go, ValidatePersistentVolumeClaim in pkg/apis/core/validation. */

export const PersistentVolumeClaimCondition = message(
  "core.v1.PersistentVolumeClaimCondition",
  "One aspect of a claim's state.",
  {
    type: f.string(1, "Name of the aspect, such as Resizing.").printZero(),
    status: f.string(2, "True, False or Unknown.").printZero(),
    lastProbeTime: f.time(3, "When it was last looked at.").orNull(),
    lastTransitionTime: f.time(4, "When the status last changed.").orNull(),
    reason: f.string(5, "Reason of the last change, one word."),
    message: f.string(6, "The reason in words."),
  },
)
export interface PersistentVolumeClaimCondition extends ObjectOf<typeof PersistentVolumeClaimCondition> {}

export const ModifyVolumeStatus = message(
  "core.v1.ModifyVolumeStatus",
  "How far a change of the volume's attributes is.",
  {
    targetVolumeAttributesClassName: f.string(1, "Class that is being put in place."),
    status: f.string(2, "Pending, InProgress or Infeasible.").required(),
  },
)
export interface ModifyVolumeStatus extends ObjectOf<typeof ModifyVolumeStatus> {}

export const PersistentVolumeClaimStatus = message(
  "core.v1.PersistentVolumeClaimStatus",
  "The present state of a claim.",
  {
    phase: f.string(1, "Whether the claim is bound.").default("Pending").enum("Pending", "Bound", "Lost"),
    accessModes: f.list(2, e.string, "How the bound volume can be used.").atomic(),
    capacity: f.map(3, e.quantity, "Size of the bound volume."),
    conditions: f.list(4, PersistentVolumeClaimCondition, "Aspects of the state.").listMap("type").merge("type"),
    allocatedResources: f.map(5, e.quantity, "Size that is set aside while the volume grows."),
    allocatedResourceStatuses: f.map(7, e.string, "How far the growing of each resource is."),
    currentVolumeAttributesClassName: f.string(8, "Class of attributes in force.").pointer(),
    modifyVolumeStatus: f.message(9, ModifyVolumeStatus, "How far a change of attributes is."),
  },
)
export interface PersistentVolumeClaimStatus extends ObjectOf<typeof PersistentVolumeClaimStatus> {}

const fields = {
  spec: f.message(2, PersistentVolumeClaimSpec, "What is asked of a volume.").always().ownRule(),
  status: f.message(3, PersistentVolumeClaimStatus, "The present state of the claim.").always(),
}
export interface PersistentVolumeClaim extends ObjectFor<typeof fields> {}

export const PersistentVolumeClaim = defineResource(
  {
    group: "",
    version: "v1",
    kind: "PersistentVolumeClaim",
    plural: "persistentvolumeclaims",
    shortNames: ["pvc"],
    scope: "Namespaced",
    doc: "A request for storage, bound to a PersistentVolume.",
    returnsDeletedObject: true,
    subresources: { status: true },
    columns: [
      {
        name: "Status",
        type: "string",
        doc: "State.",
        value: ({ metadata, status }) => (metadata.deletionTimestamp === undefined ? status.phase : "Terminating"),
      },
      { name: "Volume", type: "string", doc: "Volume it is bound to.", value: ({ spec }) => spec.volumeName ?? "" },
      {
        name: "Capacity",
        type: "string",
        doc: "Size of the volume.",
        value: ({ spec, status }) => (spec.volumeName ? (status.capacity?.["storage"] ?? "0") : ""),
      },
      {
        name: "Access Modes",
        type: "string",
        doc: "How the volume can be used.",
        value: ({ spec, status }) => (spec.volumeName ? accessModesText(status.accessModes) : ""),
      },
      {
        name: "StorageClass",
        type: "string",
        doc: "Class.",
        value: ({ metadata, spec }) =>
          spec.storageClassName ?? metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? "",
      },
      {
        name: "VolumeAttributesClass",
        type: "string",
        doc: "Class of attributes.",
        value: ({ spec }) => spec.volumeAttributesClassName || "<unset>",
      },
      {
        name: "VolumeMode",
        type: "string",
        priority: 1,
        doc: "Filesystem or raw block device.",
        value: ({ spec }) => spec.volumeMode,
      },
    ],
    prepareForCreate: (claim): PersistentVolumeClaim => ({ ...claim, status: { phase: "Pending" } }),
    validate: ({ spec }, old) => {
      const causes: Cause[] = []
      if (spec !== old?.spec) within(causes, claimSpecFaults(spec, old?.spec), "spec")
      return causes
    },
    validateUpdate: (claim, old) => changeFaults(claim, old),
  },
  fields,
)

/**
 * Once made, a claim's spec stands: only its size may grow while bound, and shrink again as long as the volume has not grown, its class of attributes may change, and
 * an empty class or volume be filled in. Source: ValidatePersistentVolumeClaimUpdate.
 */
function changeFaults(
  { spec, status }: PersistentVolumeClaim,
  { spec: old, status: oldStatus }: PersistentVolumeClaim,
): readonly Cause[] {
  const causes: Cause[] = []
  const bound = status.phase === "Bound"
  const comparable = (claim: PersistentVolumeClaimSpec) => ({
    ...claim,
    volumeName: old.volumeName ? (claim.volumeName ?? "") : "",
    storageClassName: old.storageClassName === undefined ? "" : claim.storageClassName,
    ...(bound
      ? {
          volumeAttributesClassName: undefined,
          resources: { ...claim.resources, requests: { ...claim.resources.requests, storage: "" } },
        }
      : {}),
  })
  if (!deepEqual(comparable(spec), comparable(old)))
    causes.push(
      forbiddenField(
        "spec",
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
      ),
    )
  const [now, before] = [spec, old].map(({ resources }) => quantity(resources.requests?.["storage"] ?? "0"))
  if (
    compareQuantities(now!, before!) < 0 &&
    compareQuantities(now!, quantity(oldStatus.capacity?.["storage"] ?? "0")) <= 0
  )
    causes.push(forbiddenField("spec.resources.requests.storage", "field can not be less than status.capacity"))
  if (spec.volumeMode !== old.volumeMode) causes.push(invalidValue("volumeMode", spec.volumeMode, "field is immutable"))
  const { volumeAttributesClassName: attributes } = spec
  if (
    attributes !== old.volumeAttributesClassName &&
    oldStatus.currentVolumeAttributesClassName !== undefined &&
    !attributes
  )
    causes.push(
      forbiddenField(
        "spec.volumeAttributesClassName",
        `update to ${attributes === undefined ? "nil" : "empty string"} is forbidden when status.currentVolumeAttributesClassName is not nil`,
      ),
    )
  return causes
}
