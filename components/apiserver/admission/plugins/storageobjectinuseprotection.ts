import { qualified } from "../../../../pkg/apimachinery/errors.ts"
import type { AdmissionPlugin } from "../admission.ts"

/** The finalizer that keeps objects of each kind while they are in use. */
const FINALIZERS: Readonly<Record<string, string>> = {
  persistentvolumes: "kubernetes.io/pv-protection",
  persistentvolumeclaims: "kubernetes.io/pvc-protection",
  "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}

/**
 * Adds the finalizers at creation; controllers remove them when the object is no longer in use. Source:
 * plugin/pkg/admission/storage/storageobjectinuseprotection.
 */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  operations: ["CREATE"],
  kinds: Object.keys(FINALIZERS),
  admit({ resource, subresource, object }) {
    const finalizer = FINALIZERS[qualified(resource)]
    if (finalizer === undefined || subresource !== undefined || object === undefined) return undefined
    const { finalizers = [] } = object.metadata
    return finalizers.includes(finalizer)
      ? undefined
      : { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } }
  },
}
