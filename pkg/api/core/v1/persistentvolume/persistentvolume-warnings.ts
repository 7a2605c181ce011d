import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import { termWarnings } from "../node/node-label-warnings.ts"
import { STORAGE_CLASS_ANNOTATION, STORAGE_CLASS_DEPRECATION } from "./claim-warnings.ts"
import type { PersistentVolumeSpec } from "./persistentvolumespec.ts"

const MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"

/** Warnings about volume sources that are no longer supported. */
const DEPRECATED = {
  cephfs: "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
  photonPersistentDisk: "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
  scaleIO: "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
  storageos: "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
  rbd: "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
} as const

/** Source: pkg/api/persistentvolume/util.go. */
export function volumeWarnings({
  metadata: { annotations = {} },
  spec,
}: {
  readonly metadata: ObjectMeta
  readonly spec: PersistentVolumeSpec
}): readonly string[] {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? []
  return [
    ...(annotations[STORAGE_CLASS_ANNOTATION] === undefined ? [] : [STORAGE_CLASS_DEPRECATION]),
    ...(annotations[MOUNT_OPTIONS] === undefined
      ? []
      : [`metadata.annotations[${MOUNT_OPTIONS}]: deprecated since v1.31; use "mountOptions" attribute instead`]),
    ...(spec.persistentVolumeReclaimPolicy === "Recycle"
      ? [
          "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the " +
            "recommended approach is to use dynamic provisioning.",
        ]
      : []),
    ...terms.flatMap((term, i) => termWarnings(`spec.nodeAffinity.required.nodeSelectorTerms[${i}]`, term, false)),
    ...Object.entries(DEPRECATED).flatMap(([source, warning]) =>
      spec[source as keyof typeof DEPRECATED] === undefined ? [] : [warning],
    ),
  ]
}
