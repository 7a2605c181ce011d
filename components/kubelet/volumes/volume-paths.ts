import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeletConfig } from "../context.ts"
import { podFolder } from "../pod/pod-paths.ts"

/**
 * Returns the folder of a volume; other programs rely on these names. Source: pkg/kubelet/kubelet_getters.go
 * getPodVolumeDir.
 */
export const volumeFolder = (config: KubeletConfig, pod: Pod, kind: string, name: string): string =>
  join(volumesFolder(config, pod.metadata.uid!), `kubernetes.io~${kind}`, name)
export const volumesFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volumes")

/**
 * Returns the folder in which subPaths are mounted for single containers. Source: mount-utils/subpath
 * containerSubPathDirectoryName.
 */
export const subPathsFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volume-subpaths")

/**
 * Returns the folder of the links to a pod's block devices. Source: pkg/kubelet/kubelet_getters.go
 * getPodVolumeDevicesDir.
 */
export const devicesFolder = (config: KubeletConfig, podUid: string): string =>
  join(podFolder(config, podUid), "volumeDevices")
