import { claimSpecWarnings, STORAGE_CLASS_ANNOTATION, STORAGE_CLASS_DEPRECATION } from "./claim-warnings.ts"
import { withDataSources } from "./data-sources.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { within } from "../../../../apimachinery/validation/field-errors.ts"
import { f } from "../../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import { accessModesText } from "./accessmodes.ts"
import { claimSpecFaults } from "./claimspec-validation.ts"
import { claimChangeFaults, claimStatusFaults } from "./persistentvolumeclaim-validation.ts"
import { PersistentVolumeClaimSpec, PersistentVolumeClaimStatus } from "./volumeclaim.ts"

/**
 * Source: k8s.io/api core/v1/types.go, pkg/registry/core/persistentvolumeclaim/strategy.go,
 * ValidatePersistentVolumeClaim in pkg/apis/core/validation.
 */

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
    upstreamChecks: { wholeMetadata: 1 },
    doc: "A request for storage, bound to a PersistentVolume.",
    returnsDeletedObject: true,
    subresources: { status: { validateUpdate: ({ spec, status }) => claimStatusFaults(spec, status) } },
    columns: [
      {
        name: "Status",
        type: "string",
        doc: "Phase of the claim.",
        value: ({ metadata, status }) => (metadata.deletionTimestamp === undefined ? status.phase : "Terminating"),
      },
      {
        name: "Volume",
        type: "string",
        doc: "Volume that the claim is bound to.",
        value: ({ spec }) => spec.volumeName ?? "",
      },
      {
        name: "Capacity",
        type: "string",
        doc: "Size of the volume.",
        value: ({ spec, status }) => (spec.volumeName ? (status.capacity?.["storage"] ?? "0") : ""),
      },
      {
        name: "Access Modes",
        type: "string",
        doc: "Access modes of the volume.",
        value: ({ spec, status }) => (spec.volumeName ? accessModesText(status.accessModes) : ""),
      },
      {
        name: "StorageClass",
        type: "string",
        doc: "Name of the StorageClass.",
        value: ({ metadata, spec }) =>
          spec.storageClassName ?? metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? "",
      },
      {
        name: "VolumeAttributesClass",
        type: "string",
        doc: "Name of the VolumeAttributesClass.",
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
    prepareForCreate: (claim): PersistentVolumeClaim => ({
      ...claim,
      spec: withDataSources(claim.spec),
      status: { phase: "Pending" },
    }),
    prepareForUpdate: (claim, old): PersistentVolumeClaim => ({
      ...claim,
      spec: claim.spec === old.spec ? claim.spec : withDataSources(claim.spec, old.spec),
    }),
    warnings: ({ metadata: { annotations }, spec }) => [
      ...(annotations?.[STORAGE_CLASS_ANNOTATION] === undefined ? [] : [STORAGE_CLASS_DEPRECATION]),
      ...claimSpecWarnings("spec", spec),
    ],
    validateSpec: ({ spec }, old) => {
      const causes: Cause[] = []
      within(causes, claimSpecFaults(spec, old?.spec), "spec")
      return causes
    },
    validateUpdate: (claim, old) => claimChangeFaults(claim, old),
  },
  fields,
)
