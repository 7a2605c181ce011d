import type { ContainerRuntime } from "../runtime/runtime.ts"

/**
 * The cgroup of a pod in each of the places where one can be, whatever its class of service. Source:
 * pkg/kubelet/cm/pod_container_manager_linux.go.
 */
export const podCgroups = (uid: string): readonly (readonly string[])[] => [
  ["kubepods", `pod${uid}`],
  ["kubepods", "burstable", `pod${uid}`],
  ["kubepods", "besteffort", `pod${uid}`],
]

/** Removes what there is of them. */
export async function removePodCgroups({ cgroups }: Pick<ContainerRuntime, "cgroups">, uid: string): Promise<void> {
  for (const path of podCgroups(uid)) await cgroups.remove(path)
}
