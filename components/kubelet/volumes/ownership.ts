import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { FsGroupChangePolicy, Ownership } from "./volume-files.ts"

/** The group that the pod's volumes go to, if it names one. */
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
