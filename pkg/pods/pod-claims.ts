import type { Pod } from "../api/core/v1/pod/pod.ts"

/**
 * Returns the name of the claim that is created for an ephemeral volume of a pod. Source: component-helpers
 * storage/ephemeral.
 */
export const ephemeralClaimName = (podName: string, volumeName: string): string => `${podName}-${volumeName}`

/**
 * Returns the names of the claims that a pod uses, including those of its ephemeral volumes. They are in its namespace.
 */
export function claimNamesOf({ metadata, spec }: Pod): readonly string[] {
  // Most pods use no claims, and every event of a pod calls this several times.
  let names: string[] | undefined
  for (const { name, persistentVolumeClaim, ephemeral } of spec.volumes ?? []) {
    if (persistentVolumeClaim !== undefined) (names ??= []).push(persistentVolumeClaim.claimName ?? "")
    else if (ephemeral !== undefined) (names ??= []).push(ephemeralClaimName(metadata.name ?? "", name))
  }
  return names ?? NO_CLAIMS
}
const NO_CLAIMS: readonly string[] = []
