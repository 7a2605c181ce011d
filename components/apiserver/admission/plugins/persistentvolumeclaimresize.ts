import { PersistentVolumeClaim } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { StorageClass } from "../../../../pkg/api/storage/v1/storageclass.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { compareQuantities, quantity } from "../../../../pkg/apimachinery/scalars/quantity.ts"
import { on, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

/**
 * Allows a claim to grow only while it is bound, and only if its StorageClass allows expansion. Source:
 * plugin/pkg/admission/storage/persistentvolume/resize.
 */
export const persistentVolumeClaimResize = ({ objects }: AdmissionContext): AdmissionPlugin =>
  on(PersistentVolumeClaim, {
    name: "PersistentVolumeClaimResize",
    operations: ["UPDATE"],
    validate({ resource, name, object: claim, old: before }) {
      if (before === undefined || compareQuantities(sizeOf(claim), sizeOf(before)) <= 0) return
      if (before.status.phase !== "Bound")
        throw forbidden(resource, name, "Only bound persistent volume claims can be expanded")
      const className = classOf(claim)
      const allows =
        className !== "" &&
        className === classOf(before) &&
        objects.get(StorageClass, { name: className })?.allowVolumeExpansion === true
      if (!allows)
        throw forbidden(
          resource,
          name,
          "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must " +
            "support resize",
        )
    },
  })

const sizeOf = ({ spec }: PersistentVolumeClaim) => quantity(spec.resources.requests?.["storage"] ?? "0")

/** The annotation came before the field, and has precedence. */
const classOf = ({ metadata, spec }: PersistentVolumeClaim): string =>
  metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec.storageClassName ?? ""
