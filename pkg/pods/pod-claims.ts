import type { Pod } from "../api/core/v1/pod/pod.ts"

/** Name of the claim that is made for an ephemeral volume of a pod. Source: component-helpers storage/ephemeral. */
export const ephemeralClaimName = (podName: string, volumeName: string): string => `${podName}-${volumeName}`

/** Names of the claims that a pod uses, those of its ephemeral volumes included. They are in its namespace. */
export function claimNamesOf({ metadata, spec }: Pod): readonly string[] {
  // Most pods use none, and every event on a pod asks several times.
  let names: string[] | undefined
  for (const { name, persistentVolumeClaim, ephemeral } of spec.volumes ?? []) {
    if (persistentVolumeClaim !== undefined) (names ??= []).push(persistentVolumeClaim.claimName ?? "")
    else if (ephemeral !== undefined) (names ??= []).push(ephemeralClaimName(metadata.name ?? "", name))
  }
  return names ?? NO_CLAIMS
}
const NO_CLAIMS: readonly string[] = []
