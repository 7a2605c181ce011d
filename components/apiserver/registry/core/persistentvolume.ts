import type { PersistentVolume } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { KindHooks } from "../context.ts"

/**
 * Lets the nodeAffinity of a volume be changed, which needs the feature gate MutablePVNodeAffinity: a volume may have
 * moved to other nodes. Source: pkg/apis/core/validation ValidatePersistentVolumeUpdate.
 */
export const mutableNodeAffinity: KindHooks<PersistentVolume> = {
  judges: (cause) =>
    cause.field === "nodeAffinity" &&
    cause.message.endsWith("field is immutable, except for updating from beta label to GA")
      ? undefined
      : cause,
}
