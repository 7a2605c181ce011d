import { fractionWarnings } from "../resources/resource-warnings.ts"
import type { PersistentVolumeClaimSpec } from "./volumeclaim.ts"

/**
 * Returns the warnings about a claim, in a PersistentVolumeClaim or a template. Source:
 * pkg/api/persistentvolumeclaim/util.go.
 */
export const claimSpecWarnings = (
  path: string,
  { resources: { requests, limits } }: PersistentVolumeClaimSpec,
): readonly string[] => [
  ...fractionWarnings(`${path}.resources.requests`, requests, SIZE),
  ...fractionWarnings(`${path}.resources.limits`, limits, SIZE),
]
const SIZE = ["storage"]

/** The annotation that named the class of a claim or a volume before the field existed. */
export const STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
export const STORAGE_CLASS_DEPRECATION =
  `metadata.annotations[${STORAGE_CLASS_ANNOTATION}]: deprecated since v1.8; use "storageClassName" attribute ` +
  "instead"
