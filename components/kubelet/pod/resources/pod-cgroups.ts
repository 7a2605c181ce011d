import type { ContainerRuntime } from "../../runtime/runtime.ts"

/**
 * Returns the possible cgroups of a pod, one for each quality of service class. Source:
 * pkg/kubelet/cm/pod_container_manager_linux.go.
 */
export const podCgroups = (uid: string): readonly (readonly string[])[] => [
  ["kubepods", `pod${uid}`],
  ["kubepods", "burstable", `pod${uid}`],
  ["kubepods", "besteffort", `pod${uid}`],
]

/** Removes those cgroups of the pod that exist. */
export async function removePodCgroups({ cgroups }: Pick<ContainerRuntime, "cgroups">, uid: string): Promise<void> {
  for (const path of podCgroups(uid)) await cgroups.remove(path)
}
