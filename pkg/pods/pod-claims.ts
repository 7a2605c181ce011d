import type { Pod } from "../api/core/v1/pod/pod.ts"

/** Name of the claim that is made for an ephemeral volume of a pod. Source: component-helpers storage/ephemeral. */
export const ephemeralClaimName = (podName: string, volumeName: string): string => `${podName}-${volumeName}`

/** Names of the claims that a pod uses, those of its ephemeral volumes included. They are in its namespace. */
export const claimNamesOf = ({ metadata, spec }: Pod): readonly string[] =>
  (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName ?? ""]
    return ephemeral === undefined ? [] : [ephemeralClaimName(metadata.name ?? "", name)]
  })
