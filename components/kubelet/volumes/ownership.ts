import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { FsGroupChangePolicy, Ownership } from "../runtime/volume-files.ts"

/** Returns the fsGroup of the pod's volumes; undefined when the pod sets none. */
export function ownershipFor(
  {
    spec: {
      securityContext: { fsGroup },
    },
  }: Pod,
  readOnly: boolean,
  policy: FsGroupChangePolicy = "Always",
): Ownership | undefined {
  return fsGroup === undefined ? undefined : { group: fsGroup, readOnly, policy }
}
