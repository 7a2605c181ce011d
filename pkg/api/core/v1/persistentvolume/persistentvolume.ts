import { volumeWarnings } from "./persistentvolume-warnings.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { within } from "../../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import { accessModesText } from "./accessmodes.ts"
import { volumeChangeFaults, volumeSpecFaults } from "./persistentvolume-validation.ts"
import { PersistentVolumeSpec } from "./persistentvolumespec.ts"

/**
 * Source: k8s.io/api core/v1/types.go, SetDefaults_PersistentVolume, pkg/registry/core/persistentvolume/strategy.go,
 * ValidatePersistentVolume in pkg/apis/core/validation.
 */

export const PersistentVolumeStatus = message(
  "core.v1.PersistentVolumeStatus",
  "The present state of a volume.",
  {
    phase: f
      .string(1, "Whether the volume is free, bound or left over.")
      .default("Pending")
      .enum("Pending", "Available", "Bound", "Released", "Failed"),
    message: f.string(2, "Why it is in this state, in words."),
    reason: f.string(3, "Why it is in this state, one word."),
    lastPhaseTransitionTime: f.time(4, "When the phase last changed."),
  },
  { unchecked: true },
)
export interface PersistentVolumeStatus extends ObjectOf<typeof PersistentVolumeStatus> {}

const fields = {
  spec: f.message(2, PersistentVolumeSpec, "What the volume is.").always().ownRule(),
  status: f.message(3, PersistentVolumeStatus, "The present state of the volume.").always(),
}
export interface PersistentVolume extends ObjectFor<typeof fields> {}

export const PersistentVolume = defineResource(
  {
    group: "",
    version: "v1",
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    shortNames: ["pv"],
    scope: "Cluster",
    upstreamChecks: { metadataUpdate: 0, wholeMetadata: 2, rules: 2 },
    doc: "A piece of storage that claims are bound to.",
    returnsDeletedObject: true,
    subresources: {
      status: {
        // The client that changes the phase may set the time of the change; the default is now.
        prepareForUpdate(volume, old, { now }) {
          const { phase, lastPhaseTransitionTime: said } = volume.status
          const before = old.status.lastPhaseTransitionTime
          if (said !== undefined && (phase === old.status.phase || said !== before)) return volume
          const lastPhaseTransitionTime = phase === old.status.phase ? before : now
          return { ...volume, status: { ...volume.status, lastPhaseTransitionTime } }
        },
      },
    },
    columns: [
      {
        name: "Capacity",
        type: "string",
        doc: "Size of the volume.",
        value: ({ spec }) => spec.capacity?.["storage"] ?? "",
      },
      {
        name: "Access Modes",
        type: "string",
        doc: "Access modes of the volume.",
        value: ({ spec }) => accessModesText(spec.accessModes),
      },
      {
        name: "Reclaim Policy",
        type: "string",
        doc: "What happens to the volume when its claim is deleted.",
        value: ({ spec }) => spec.persistentVolumeReclaimPolicy,
      },
      {
        name: "Status",
        type: "string",
        doc: "Phase of the volume.",
        value: ({ metadata, status }) => (metadata.deletionTimestamp === undefined ? status.phase : "Terminating"),
      },
      {
        name: "Claim",
        type: "string",
        doc: "Claim that the volume is bound to.",
        value: ({ spec }) =>
          spec.claimRef === undefined ? "" : `${spec.claimRef.namespace ?? ""}/${spec.claimRef.name ?? ""}`,
      },
      {
        name: "StorageClass",
        type: "string",
        doc: "Name of the StorageClass.",
        value: ({ spec }) => spec.storageClassName ?? "",
      },
      {
        name: "VolumeAttributesClass",
        type: "string",
        doc: "Name of the VolumeAttributesClass.",
        value: ({ spec }) => spec.volumeAttributesClassName || "<unset>",
      },
      { name: "Reason", type: "string", doc: "Reason of the phase.", value: ({ status }) => status.reason ?? "" },
      {
        name: "VolumeMode",
        type: "string",
        priority: 1,
        doc: "Filesystem or raw block device.",
        value: ({ spec }) => spec.volumeMode,
      },
    ],
    prepareForCreate: (volume, { now }): PersistentVolume => ({
      ...volume,
      status: { phase: "Pending", lastPhaseTransitionTime: now },
    }),
    defaults: (volume) => {
      const { persistentVolumeReclaimPolicy: policy, volumeMode } = volume.spec
      return policy !== undefined && volumeMode !== undefined
        ? volume
        : {
            ...volume,
            spec: {
              ...volume.spec,
              persistentVolumeReclaimPolicy: policy ?? "Retain",
              volumeMode: volumeMode ?? "Filesystem",
            },
          }
    },
    warnings: (volume) => volumeWarnings(volume),
    validateSpec: ({ metadata, spec }) => {
      const causes: Cause[] = []
      within(causes, volumeSpecFaults(spec, metadata.name ?? ""), "spec")
      return causes
    },
    validateSpecUpdate: ({ spec }, old) => volumeChangeFaults(spec, old.spec),
  },
  fields,
)
