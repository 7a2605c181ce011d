import type { PersistentVolume } from "../../api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { compareQuantities, quantity } from "../../apimachinery/scalars/quantity.ts"
import { fromLabelSelector } from "../../apimachinery/selectors/labels.ts"

/** The provisioner of classes whose volumes somebody makes by hand. */
export const NO_PROVISIONER = "kubernetes.io/no-provisioner"

/** Returns what of a volume does not fit a claim; undefined where it fits. */
export function misfit({ spec, metadata }: PersistentVolumeClaim, volume: PersistentVolume): string | undefined {
  const { claimRef, accessModes = [], capacity, volumeMode = "Filesystem", storageClassName = "" } = volume.spec
  if (claimRef !== undefined && (claimRef.name !== metadata.name || claimRef.namespace !== metadata.namespace))
    return volume.status.phase === "Released"
      ? `belonged to claim ${claimRef.namespace}/${claimRef.name}, which is gone, and is kept (Released)`
      : `belongs to claim ${claimRef.namespace}/${claimRef.name}`
  const missing = (spec.accessModes ?? []).filter((mode) => !accessModes.includes(mode))
  if (missing.length > 0) return `has ${accessModes.join(", ")} and not ${missing.join(", ")}`
  const [wants, has] = [spec.resources?.requests?.["storage"], capacity?.["storage"]]
  if (wants !== undefined && has !== undefined && compareQuantities(quantity(has), quantity(wants)) < 0)
    return `has ${has}, less than the ${wants} of the claim`
  if ((spec.volumeMode ?? "Filesystem") !== volumeMode)
    return `is a ${volumeMode}, and the claim wants a ${spec.volumeMode}`
  if (spec.storageClassName !== undefined && spec.storageClassName !== storageClassName)
    return `has class ${JSON.stringify(storageClassName)}, and the claim wants ${JSON.stringify(spec.storageClassName)}`
  if (spec.selector !== undefined && !fromLabelSelector(spec.selector).matches(volume.metadata.labels))
    return "does not have the labels that the claim's selector wants"
  return undefined
}
