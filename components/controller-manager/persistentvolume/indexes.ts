import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { BIND_COMPLETED, storageClassOf } from "../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { claimNamesOf } from "../../../pkg/pods/pod-claims.ts"
import type { Index } from "../../../pkg/client/informer.ts"

/** How claims and pods are found by volumes, classes and each other; volumes by claims: pkg/component/volume-indexes.ts. */

/** Claims that are not bound, by their class. */
export const unboundClaimsByClass: Index<PersistentVolumeClaim> = {
  name: "unbound-by-class",
  of: (claim) => (claim.metadata.annotations?.[BIND_COMPLETED] === undefined ? [storageClassOf(claim)] : []),
}

/** Claims that name their volume, by its name. */
export const claimsByVolume: Index<PersistentVolumeClaim> = {
  name: "volume",
  of: ({ spec }) => ((spec.volumeName ?? "") === "" ? [] : [spec.volumeName!]),
}

/** Pods, by the keys of the claims that they use. */
export const podsByClaim: Index<Pod> = {
  name: "claims",
  of(pod) {
    const names = claimNamesOf(pod)
    return names.length === 0 ? names : names.map((name) => `${pod.metadata.namespace}/${name}`)
  },
}
